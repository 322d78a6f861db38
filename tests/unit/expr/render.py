"""Renders syntax trees as text, the inverse of the parser."""

from hashrange.expr.nodes import (
    AddAction,
    And,
    Arithmetic,
    Between,
    Comparison,
    DeleteAction,
    DocumentPath,
    FunctionCall,
    Membership,
    Not,
    Or,
    Placeholder,
    RemoveAction,
    SetAction,
)


def render_path(path):
    first, *rest = path.elements
    return first + "".join(f"[{element}]" if isinstance(element, int) else f".{element}" for element in rest)


def render(node):
    match node:
        case Not():
            return f"NOT {enclose(node.operand, And | Or)}"
        case And():
            return " AND ".join(enclose(operand, And | Or) for operand in node.operands)
        case Or():
            return " OR ".join(enclose(operand, Or) for operand in node.operands)
        case _:
            return render_clause(node)


def render_clause(node):
    match node:
        case DocumentPath():
            return render_path(node)
        case Placeholder():
            return node.name
        case FunctionCall():
            return f"{node.function}({', '.join(map(render, node.arguments))})"
        case Arithmetic() | Comparison():
            return f"{render(node.left)} {node.operator} {render(node.right)}"
        case Between():
            return f"{render(node.operand)} BETWEEN {render(node.low)} AND {render(node.high)}"
        case Membership():
            return f"{render(node.operand)} IN ({', '.join(map(render, node.options))})"


def enclose(node, kinds):
    return f"({render(node)})" if isinstance(node, kinds) else render(node)


def render_action(action):
    match action:
        case SetAction():
            return f"{render_path(action.path)} = {render(action.value)}"
        case RemoveAction():
            return render_path(action.path)
        case AddAction() | DeleteAction():
            return f"{render_path(action.path)} {action.value.name}"


def render_update(sections):
    return " ".join(f"{section.keyword} {', '.join(map(render_action, section.actions))}" for section in sections)
