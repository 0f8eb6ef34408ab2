"""The command `vvm`: one file per verb."""
