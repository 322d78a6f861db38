"""`make lengths` prints what is longest; nothing fails for its length."""

import runpy

from tests.architecture.syntax import ROOT

PROGRAM = """
class Parcel:
    def send(self):
        def stamp():
            return 1

        return stamp()


async def wait(): ...
"""


def test_the_longest_files_and_functions_are_printed_with_their_place(tmp_path, capsys):
    (tmp_path / "parcel.py").write_text(PROGRAM, "utf-8")
    (tmp_path / "empty.py").touch()
    runpy.run_path(str(ROOT / "scripts" / "lengths.py"))["main"]([tmp_path])
    assert capsys.readouterr().out.splitlines() == [
        f"2 files of {tmp_path}: median 5, 95 % up to 10 lines",
        f"    10  {tmp_path}/parcel.py",
        f"     0  {tmp_path}/empty.py",
        "",
        f"3 functions of {tmp_path}: median 2, 95 % up to 5 lines",
        f"     5  {tmp_path}/parcel.py:3 send",
        f"     2  {tmp_path}/parcel.py:4 stamp",
        f"     1  {tmp_path}/parcel.py:10 wait",
        "",
    ]
