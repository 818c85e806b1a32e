@echo off
rem Sets up what is missing, then runs Orbit on Windows. The commands are those of the script "orbit" beside it:
rem
rem   orbit                 start the window
rem   orbit broker ...      name server and broker without a window; so too the other commands of the README
rem   orbit test            all tests that need nothing but what this script installs
rem   orbit test --quick    unit tests, golden stores, a window that opens
rem   orbit test ...        other arguments go to pytest
rem   orbit check           formatter, linter, types, import contracts
rem   orbit setup           set up only
rem
rem The set-up needs Python 3.11 or newer and the network once. It writes to .venv in this folder. Qt needs no system libraries on
rem Windows, and no machine code is made there. A start that finds everything in place does no set-up.
setlocal EnableExtensions DisableDelayedExpansion

rem Modules compiled once are what makes every later start fast.
set "PYTHONDONTWRITEBYTECODE="

for %%I in ("%~dp0.") do set "here=%%~fI"
set "venv=%here%\.venv"
set "python=%venv%\Scripts\python.exe"
rem The lock file of the tests has all that the other two have.
set "ALL=requirements-window.lock requirements-reports.lock"
set "TESTS=requirements-dev.lock"
set "PRODUCT=main.py broker_core monitoring gui spark_reports"
set "OPENS=tests/gui/test_console.py::test_the_window_comes_first_and_the_broker_after"
rem A test that hangs inside Qt ends its process after this time, and the process prints its stacks.
set "HANG_S=1200"

if "%~1"=="test" goto test
if "%~1"=="check" goto check
if "%~1"=="setup" goto setup
call :set_up "%ALL%" || exit /b 1
rem -E: variables for other Pythons, such as PYTHONPATH, change nothing. -X utf8: texts are UTF-8, whatever the locale.
"%python%" -E -s -X utf8 "%here%\main.py" %*
exit /b %errorlevel%

:setup
call :set_up "%ALL%"
exit /b %errorlevel%

:check
call :set_up "%TESTS%" || exit /b 1
cd /d "%here%"
"%python%" -m ruff format --check . || exit /b 1
"%python%" -m ruff check . || exit /b 1
for %%S in (linux win32 darwin) do (
  "%python%" -m mypy --platform %%S --cache-dir .mypy_cache/%%S %PRODUCT% || exit /b 1
)
"%venv%\Scripts\lint-imports.exe"
exit /b %errorlevel%

:test
call :set_up "%TESTS%" || exit /b 1
cd /d "%here%"
if not defined QT_QPA_PLATFORM set "QT_QPA_PLATFORM=offscreen"
shift
set "option=%~1"
set "rest="
set "several=-n auto -o faulthandler_timeout=%HANG_S% -o faulthandler_exit_on_timeout=true"
if "%option%"=="" goto several
if "%option%"=="--quick" set "several=%several% tests/unit tests/golden %OPENS%" & shift & goto rest
if "%option%"=="--clients" set several=%several% -m "clients and not slow and not bench" & shift & goto rest
if "%option%"=="--all" set several=%several% -m "not slow and not bench and not packaging" & shift & goto rest
set "several="
:rest
if "%~1"=="" goto several
set rest=%rest% %1
shift
goto rest
:several
"%python%" -m pytest %several%%rest%
exit /b %errorlevel%

rem set_up LOCK-FILES: what the environment holds is remembered by copies of the lock files.
:set_up
set "locks=%~1"
call :holds "%locks%" && exit /b 0
if "%locks%"=="%ALL%" call :holds "%TESTS%" && exit /b 0
"%python%" -I -c "import pip" >nul 2>&1 || call :make_venv || exit /b 1
call :say installing packages, about 1.7 GB on disk, once; some minutes
del /q "%venv%\.installed-*" >nul 2>&1
call :install_locked requirements-build.lock || exit /b 1
call :install_locked "%locks%" --no-build-isolation || exit /b 1
for %%L in (%locks%) do copy /b /y "%here%\%%L" "%venv%\.installed-%%L" >nul || exit /b 1
exit /b 0

:holds
for %%L in (%~1) do fc /b "%here%\%%L" "%venv%\.installed-%%L" >nul 2>&1 || exit /b 1
exit /b 0

:install_locked
set "files="
for %%L in (%~1) do call :add_file "%%L"
"%python%" -I -m pip install --quiet --disable-pip-version-check --no-input --require-hashes --no-deps --prefer-binary %~2%files% >&2 && exit /b 0
call :say packages of %~1 could not be installed. Is the network there? Start again to go on.
exit /b 1

:add_file
set files=%files% -r "%here%\%~1"
exit /b 0

:make_venv
call :find_python || exit /b 1
call :say making a virtual environment in .venv
%base% -I -m venv --clear "%venv%" && exit /b 0
call :say the virtual environment could not be made in %venv%
exit /b 1

:find_python
set "base="
if defined ORBIT_PYTHON call :try "%ORBIT_PYTHON%"
for %%P in ("py -3" python python3) do if not defined base call :try %%~P
if defined base exit /b 0
call :say Python 3.11 or newer is needed and was not found. Install it from python.org, or name it: set ORBIT_PYTHON=C:\path\to\python.exe
exit /b 1

:try
%* -I -c "import ensurepip, sys, venv; sys.exit(sys.version_info[:2] < (3, 11))" >nul 2>&1 && set base=%*
exit /b 0

:say
>&2 echo orbit: %*
exit /b 0
