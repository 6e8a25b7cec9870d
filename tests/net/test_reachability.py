"""Whether a machine has a network, asked where there is none."""

from __future__ import annotations

import subprocess
import sys

import pytest

ASK = """
from pilothouse.net.addresses import is_offline
print(is_offline("mcp.example"), is_offline("127.0.0.1"), is_offline("localhost"))
"""


@pytest.mark.case("ERR-12")
def test_where_no_way_leads_out_a_host_elsewhere_is_out_of_reach_and_this_machine_is_not() -> None:
    alone = ["bwrap", "--unshare-net", "--dev-bind", "/", "/", "--", sys.executable, "-c", ASK]
    done = subprocess.run(alone, capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.split() == ["True", "False", "False"]
