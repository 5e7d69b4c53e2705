"""The command ``robodyn``: one file a verb, named after the verb."""
