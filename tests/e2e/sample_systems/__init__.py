"""Systems that do little, in the form that hosted systems have."""
