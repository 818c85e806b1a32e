"""What a bundle leaves out: tests, development files, and those parts of Qt that the window does not import."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

from shared_libraries import elf_files, loaded_by

ROOT = Path(__file__).resolve().parents[1]
STANDARD_LEFT_OUT = (
    "test", "idlelib", "tkinter", "turtledemo", "turtle.py", "ensurepip", "lib2to3", "pydoc_data", "config-*", "__phello__",
    "lib-dynload/_tkinter*", "lib-dynload/_test*", "lib-dynload/_xx*", "lib-dynload/xx*", "*/test", "*/tests",
    "EXTERNALLY-MANAGED",
)  # fmt: skip
PACKAGES_LEFT_OUT = (
    "numpy/**/tests", "pandas/tests", "pyarrow/tests", "numba/tests", "numba/np/ufunc/tbbpool*", "regex/tests",
    "numba/cuda/tests", "numpy/f2py", "pyarrow/include", "pyarrow/src", "pyarrow/*.pyx", "pyarrow/*.pxi",
    "pyarrow/includes", "numpy/_core/include", "uvloop/**/*.pyx", "pyqtgraph/examples", "pyspark/examples", "pyspark/tests",
    "pyspark/**/tests", "pyspark/data", "plotly/package_data/datasets", "pyspark/kubernetes", "pyspark/licenses.txt",
    "llvmlite/tests", "PySide6/*.pyi", "PySide6/*/*.pyi", "PySide6/glue", "PySide6/include", "PySide6/typesystems",
    "PySide6/doc", "PySide6/scripts", "PySide6/support/generate_pyi", "PySide6/Qt/metatypes", "PySide6/Qt/qml",
    "PySide6/Qt/translations", "PySide6/Qt/libexec",
)  # fmt: skip
"""Those that hold most bytes, and a way of numba to start threads that needs a library of its own."""
QT_MODULES_OF_PYQTGRAPH = frozenset({"QtCore", "QtGui", "QtWidgets", "QtSvg", "QtTest", "QtOpenGL", "QtOpenGLWidgets"})
QT_PLUGINS = frozenset({
    "iconengines", "imageformats", "platforminputcontexts", "platforms", "platformthemes", "tls",
    "wayland-decoration-client", "wayland-graphics-integration-client", "wayland-shell-integration", "xcbglintegrations",
})  # fmt: skip
QT_PLUGINS_LEFT_OUT = (
    "imageformats/libqpdf.so", "platforminputcontexts/libqtvirtualkeyboardplugin.so",  # need parts of Qt that are left out
    "platformthemes/libqgtk3.so",  # would load GTK of the system beside libraries of the bundle
    "platforms/libqeglfs.so", "platforms/libqlinuxfb.so", "platforms/libqminimalegl.so", "platforms/libqvkkhrdisplay.so",
    "platforms/libqvnc.so",  # displays without a desktop
)  # fmt: skip


def trim_standard_library(folder: Path) -> None:
    """Delete what no program of Orbit imports."""
    _delete(folder, STANDARD_LEFT_OUT)


def trim_packages(folder: Path) -> None:
    """Delete tests, development files and unused parts of Qt."""
    _delete(folder, PACKAGES_LEFT_OUT)
    if (folder / "PySide6").is_dir():
        _trim_qt(folder / "PySide6")


def _delete(folder: Path, patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        for path in list(folder.glob(pattern)):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def _trim_qt(folder: Path) -> None:
    """Keep the modules that are imported, plugins of a desktop, and the libraries that these load."""
    kept = imported_qt_modules() | QT_MODULES_OF_PYQTGRAPH
    for module in folder.glob("Qt*.abi3.so"):
        if module.name.partition(".")[0] not in kept:
            module.unlink()
    for program in (path for path in folder.iterdir() if path.is_file() and path in set(elf_files(folder))):
        if ".so" not in program.name:
            program.unlink()
    plugins = folder / "Qt" / "plugins"
    for kind in plugins.iterdir():
        if kind.name not in QT_PLUGINS:
            shutil.rmtree(kind)
    _delete(plugins, QT_PLUGINS_LEFT_OUT)
    _keep_loaded(folder / "Qt" / "lib", [*folder.glob("*.so*"), *plugins.rglob("*.so")])


def _keep_loaded(libraries: Path, users: list[Path]) -> None:
    """Delete libraries of Qt that no user loads."""
    loaded = {Path(path).resolve() for user in users for path in loaded_by(user).values() if path}
    for library in list(libraries.iterdir()):
        if library.is_file() and library.resolve() not in loaded and "libQt6" in library.name:
            library.unlink()


def imported_qt_modules() -> set[str]:
    """Modules of Qt that the window's sources import."""
    found: set[str] = set()
    for path in (ROOT / "gui").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("PySide6."):
                found.add(node.module.partition(".")[2])
    return found
