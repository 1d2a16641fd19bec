"""Tables, migrations and roles."""
