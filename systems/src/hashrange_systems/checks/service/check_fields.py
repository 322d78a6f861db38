"""Form fields that several types of check have."""

from __future__ import annotations

from hashrange_systems.shared.web.form import Field

PRICE = "attributes.threshold"
RETRIES = Field(
    path="attributes.retries", label="Retries before it counts as down", input_type="number", hint="2", short=True
)
TIMEOUT = Field(
    path="attributes.timeoutMs", label="Timeout in milliseconds", input_type="number", hint="10000", short=True
)
TLS_WARNING = Field(
    path="attributes.tlsWarningDays",
    label="Warn so many days before the certificate expires",
    input_type="number",
    hint="14",
    short=True,
)
THRESHOLDS = (
    Field(
        path="attributes.slowMs",
        label="Warn above so many milliseconds",
        input_type="number",
        help="A warning, not an outage. Empty for none.",
        short=True,
    ),
    Field(
        path="attributes.tooSlowMs",
        label="Down above so many milliseconds",
        input_type="number",
        help="Empty for the timeout only.",
        short=True,
    ),
)
MORE = (TIMEOUT, *THRESHOLDS, RETRIES)
