from broker_core.platform.programs import executable


def test_a_program_has_the_ending_of_its_system():
    assert executable("java", is_windows=True) == "java.exe"
    assert executable("java", is_windows=False) == "java"
