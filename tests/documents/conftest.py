from tests.cli.conftest import vvm as vvm
