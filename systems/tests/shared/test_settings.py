"""Settings of a system: named once, checked together, shown without secrets."""

import pytest

from hashrange_systems.shared.application.settings import InvalidSetting, Variable
from systems.tests.shared.sample_system import Settings


def test_without_variables_every_setting_has_its_default():
    assert Settings.read({}) == Settings() == Settings.read({"STOCK_SHELVES": "  ", "STOCK_URL": ""})


def test_a_variable_is_the_system_and_the_field_unless_it_is_named():
    found = Settings.read({"STOCK_SHELVES": "7", "PARTNER_ID": "p", "STOCK_PARTNER": "no"})
    assert (found.shelves, found.partner) == (7, "p")


def test_everything_that_is_invalid_is_reported_together():
    with pytest.raises(InvalidSetting) as refused:
        Settings.read({"STOCK_SHELVES": "0", "STOCK_URL": "example.com", "STOCK_SECRET": "short"})
    assert str(refused.value).splitlines() == [
        "STOCK_URL is 'example.com': it must be an address such as https://example.com/path.",
        "STOCK_SECRET must have at least 16 characters.",
        "STOCK_SHELVES is '0': it must be a whole number from 1 to 100.",
    ]


def test_values_that_do_not_fit_together_are_reported_together_too():
    with pytest.raises(InvalidSetting) as refused:
        Settings.read({"STOCK_SMTP_URL": "smtp://mail.example", "PARTNER_ID": "p", "STOCK_SHELVES": "1"})
    assert str(refused.value).splitlines() == [
        "STOCK_SMTP_URL needs STOCK_SENDER, the address that e-mails are from.",
        "STOCK_SHELVES must be at least 2 with PARTNER_ID.",
    ]


def test_a_secret_is_neither_shown_nor_quoted():
    mail = {"STOCK_SMTP_URL": "smtps://ann:a-password@mail.example", "STOCK_SENDER": "stock@example.com"}
    found = Settings.read({"STOCK_SECRET": "a secret of many letters", **mail})
    assert (found.secret, found.mail.password) == (b"a secret of many letters", "a-password")
    assert "letters" not in repr(found)
    assert "a-password" not in repr(found) + repr(found.mail)
    with pytest.raises(InvalidSetting) as refused:
        Settings.read({**mail, "STOCK_SMTP_URL": "smtp://ann:a-password@mail.example"})
    assert "a-password" not in str(refused.value)


def test_mails_are_from_the_system_at_the_host_of_its_url():
    found = Settings.read({"STOCK_SMTP_URL": "smtp://mail.example", "STOCK_URL": "https://shop.example/stock/"})
    assert (found.mail.sender, found.url) == ("stock@shop.example", "https://shop.example/stock")


def test_the_table_of_the_documentation_follows_from_the_fields():
    variables = {each.name: each for each in Settings.list_variables()}
    assert variables["STOCK_SHELVES"].row == "| `STOCK_SHELVES` | 4 | How many shelves there are. |"
    assert variables["STOCK_LABEL"].usual == "`plain`"
    assert variables["PARTNER_ID"] == Variable("PARTNER_ID", "none", "The id at the partner.")
    assert variables["STOCK_SENDER"].usual == "`stock@` and the host of `STOCK_URL`"
    assert {"STOCK_URL", "STOCK_SMTP_URL", "STOCK_SECRET", "STOCK_KEYS"} < set(variables)
