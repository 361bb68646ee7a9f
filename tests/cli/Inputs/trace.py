"""The names of a trace's events, and the number of processes in it.

Events of a child lie within the time of its "Compile module".
"""
import json
import sys

with open(sys.argv[1]) as file:
    trace = json.load(file)
events = [event for event in trace["traceEvents"]
          if event["ph"] == "X" and not event["name"].startswith("Total ")]
for name in sorted({event["name"] for event in events}):
    print(name)
modules = [event for event in events if event["name"] == "Compile module"]
for event in events:
    if event["name"] in ("Lower", "Generate code") and modules:
        assert any(module["ts"] <= event["ts"] and
                   event["ts"] + event["dur"] <= module["ts"] + module["dur"]
                   for module in modules), event
print("processes", len({event["pid"] for event in events}))
