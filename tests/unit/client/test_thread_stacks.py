import threading
from pathlib import Path

from broker_core.client.consumer_services import stacks_text
from monitoring.admin.clients import read_stacks


def test_the_stacks_of_all_threads_are_told_as_java_clients_tell_them():
    begun, end = threading.Event(), threading.Event()

    def wait_here() -> None:
        begun.set()
        end.wait(60)

    thread = threading.Thread(target=wait_here, name="listener-7")
    thread.start()
    try:
        assert begun.wait(60)
        text = stacks_text()
    finally:
        end.set()
        thread.join(60)
    stack = next(stack for stack in read_stacks(text) if "listener-7" in stack.names)
    assert stack.state == "RUNNABLE"
    assert any(frame.startswith(f"wait_here({Path(__file__).name}:") for frame in stack.frames)
