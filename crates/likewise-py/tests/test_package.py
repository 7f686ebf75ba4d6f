"""The package as such: its import, its threads, its interruptions, its documentation."""

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, blobs, hidden

import likewise
from likewise import _likewise

MODULES = [name for _, name, _ in pkgutil.iter_modules(likewise.__path__) if name != "__main__"]


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, env={**os.environ, **environment}, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_import_is_quick_and_needs_numpy_alone():
    code = """
        import sys, time
        import numpy
        begun = time.perf_counter()
        import likewise
        taken = time.perf_counter() - begun
        heavy = {"scipy", "sklearn", "pandas", "torch", "tqdm"} & set(sys.modules)
        assert not heavy, heavy
        print(taken)
    """
    assert min(float(run(code)) for _ in range(3)) < 0.3


def test_without_scikit_learn_the_estimators_keep_the_conventions():
    out = run(
        """
        import sys
        sys.modules["sklearn"] = sys.modules["pandas"] = None
        import numpy as np, likewise
        x = np.random.default_rng(0).normal(size=(40, 3))
        y = np.where(np.arange(40) < 10, np.arange(40) % 2, -1)
        fit = likewise.LabelPropagation(n_neighbors=4)
        assert fit.get_params()["n_neighbors"] == 4
        assert fit.set_params(n_neighbors=5).fit(x, y).score(x, fit.predict(x)) == 1.0
        print(fit)
        try:
            likewise.MetricLearner().transform(x)
        except ValueError as e:
            assert "not fitted" in str(e)
        study = likewise.Study(x, y, recipe="rca")
        assert isinstance(study.run(), list)
        """
    )
    assert out == "LabelPropagation(n_neighbors=5)"


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_run(name):
    module = importlib.import_module(f"likewise.{name}")
    done = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert done.failed == 0


def test_everything_public_is_documented():
    for name in likewise.__all__:
        thing = getattr(likewise, name)
        assert name == "__version__" or thing.__doc__, name
        if inspect.isclass(thing) and thing.__module__.startswith("likewise"):
            for method, value in vars(thing).items():
                if inspect.isfunction(value) and not method.startswith("_"):
                    assert value.__doc__, f"{name}.{method}"
    assert set(likewise.__all__) <= set(dir(likewise))
    with pytest.raises(AttributeError, match="nosuch"):
        likewise.nosuch


def test_stubs_say_what_the_extension_has():
    stub = ast.parse((Path(likewise.__file__).parent / "_likewise.pyi").read_text())

    def names(function):
        asked = function.args.args
        defaults = [ast.literal_eval(value) for value in function.args.defaults]
        defaults = [inspect.Parameter.empty] * (len(asked) - len(defaults)) + defaults
        return list(zip((a.arg for a in asked), defaults))

    def real(value):
        return [(p.name, p.default) for p in inspect.signature(value).parameters.values()]

    said, constants = set(), set()
    for node in stub.body:
        if isinstance(node, ast.AnnAssign):
            constants.add(node.target.id)
        elif isinstance(node, ast.FunctionDef):
            said.add(node.name)
            assert names(node) == real(getattr(_likewise, node.name)), node.name
        elif isinstance(node, ast.ClassDef):
            said.add(node.name)
            kind = getattr(_likewise, node.name)
            methods = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
            there = {m for m in vars(kind) if not m.startswith("__")}
            assert set(methods) == there, node.name
            for name, function in methods.items():
                value = vars(kind)[name]
                is_property = "property" in [d.id for d in function.decorator_list]
                assert inspect.isgetsetdescriptor(value) == is_property, name
                if not is_property:
                    static = isinstance(value, staticmethod)
                    wanted = names(function)
                    assert wanted == real(value.__func__ if static else value), name
    there = {n for n, v in vars(_likewise).items() if callable(v) and not n.startswith("_")}
    assert said == there
    there = {n for n, v in vars(_likewise).items() if not callable(v) and not n.startswith("__")}
    assert constants == there | {"__version__"}


def public_functions():
    for name in sorted(set(likewise.__all__) - {"__version__", "ray"}):
        thing = getattr(likewise, name)
        if inspect.ismodule(thing):
            for own, value in vars(thing).items():
                if inspect.isfunction(value) and value.__module__ == thing.__name__ and own[0] != "_":
                    yield f"{name}.{own}", value
        elif inspect.isclass(thing) and thing.__module__.startswith("likewise"):
            for own, value in vars(thing).items():
                value = getattr(value, "__func__", value)
                if inspect.isfunction(value) and (own == "__init__" or not own.startswith("_")):
                    yield f"{name}.{own}", value
        elif inspect.isfunction(thing):
            yield name, thing


@pytest.mark.parametrize("name, function", list(public_functions()), ids=[name for name, _ in public_functions()])
def test_types_and_defaults_are_said_and_so(name, function):
    parameters = inspect.signature(function).parameters
    untyped = [p for p in parameters.values() if p.name not in ("self", "cls") and p.annotation is p.empty]
    assert not untyped and inspect.signature(function).return_annotation is not inspect.Signature.empty
    owner = getattr(likewise, name.split(".")[0])
    text = owner.__doc__ if name.endswith("__init__") else function.__doc__
    # "words : int, default=200" in the list of parameters.
    for names, default in re.findall(r"^ +([\w, ]+) : .*default=(\S+)$", inspect.cleandoc(text or ""), re.M):
        for own in names.split(", "):
            assert parameters[own].default == ast.literal_eval(default), own


def test_ctrl_c_stops_the_work():
    code = """
        import os, signal, threading, time
        import numpy as np, likewise
        x = np.random.default_rng(0).normal(size=(60000, 256)).astype(np.float32)
        likewise.Index(x[:10])
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        begun = time.perf_counter()
        try:
            likewise.KNeighborsGraph(50).fit(x)
        except KeyboardInterrupt:
            print(time.perf_counter() - begun)
        else:
            print("done after", time.perf_counter() - begun)
    """
    out = run(code)
    assert not out.startswith("done") and float(out) < 5, out


def test_other_threads_go_on_meanwhile():
    x = np.random.default_rng(0).normal(size=(12000, 64)).astype(np.float32)
    ticks = []
    over = threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.005)

    other = threading.Thread(target=tick)
    other.start()
    begun = time.perf_counter()
    likewise.KNeighborsGraph(20).fit(x)
    taken = time.perf_counter() - begun
    over.set()
    other.join()
    during = [t for t in ticks if begun < t < begun + taken]
    assert len(during) > taken / 0.005 / 20 and taken > 0.05


def test_progress_is_told_and_its_errors_stop_the_work(capsys):
    x, y = blobs(n=600)
    likewise.KNeighborsGraph(5, verbose=True).fit(x)
    assert capsys.readouterr().err
    heard = []

    def listener(kind, text, number):
        heard.append(kind)
        raise ZeroDivisionError("mine")

    asked = {"n_neighbors": 5, "gamma": 3.0, "symmetrize": "sum", "center": False, "recall": None, "seed": 0}
    with pytest.raises(ZeroDivisionError, match="mine"):
        _likewise.Graph.build(x, asked, (None, True, listener))
    assert heard


def test_warnings_are_warnings_of_the_caller():
    x, y = blobs()
    x = np.repeat(x[:60], 2, axis=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        likewise.MetricLearner("rca").fit(x, np.repeat(y[:60], 2))
    ours = [w for w in caught if w.category is likewise.LikewiseWarning]
    assert ours and ours[0].filename == __file__


def test_a_forked_process_works():
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    out = run(
        """
        import os, warnings
        warnings.simplefilter("ignore")
        import numpy as np, likewise
        x = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
        likewise.KNeighborsGraph(5).fit(x)
        child = os.fork()
        if child == 0:
            likewise.KNeighborsGraph(5).fit(x)
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert out == "7"


def test_a_million_rows_are_not_copied():
    if not Path("/proc/self/status").exists():
        pytest.skip("memory is measured by /proc")
    out = run(
        """
        import numpy as np
        from likewise import _likewise, metrics
        from likewise._arrays import matrix
        from likewise._work import how
        def peak():
            with open("/proc/self/status") as status:
                return int(next(line for line in status if line.startswith("VmHWM")).split()[1])
        x = np.ones((1_000_000, 128), np.float32)
        x[:, 0] = np.arange(1_000_000) % 7
        metrics.collapse(x[:100])
        before = peak()
        rows = matrix(x)
        assert rows is x
        # An error in the last row: the extension has gone through all of them.
        x[-1, -1] = np.nan
        try:
            _likewise.Index.build(rows, "hnsw", "cosine", 0, how())
        except ValueError as e:
            assert "row 999999" in str(e)
        print((peak() - before) / 1024)
        """
    )
    # The rows are 488 MiB.
    assert float(out) < 50, out


#: Items of the guide, which has twenty times as many: an extension that is built for tests is slow.
ITEMS = "1_000"


def test_the_guide_and_the_readme_run(tmp_path):
    pages = [ROOT / "docs/python.md", ROOT / "crates/likewise-py/README.md", ROOT / "README.md"]
    assert pages[0].read_text().count("\nn, classes, columns = 20_000,") == 1
    for page in pages:
        blocks = []
        for part in page.read_text().split("```python\n")[1:]:
            blocks.append(part.split("```")[0])
        assert blocks, page
        place = tmp_path / page.name
        place.mkdir(exist_ok=True)
        x, y = blobs(n=400)
        names = {"X": x, "y": hidden(y), "__name__": "page"}
        before = os.getcwd()
        os.chdir(place)
        try:
            for block in blocks:
                block = block.replace("columns = 20_000", f"columns = {ITEMS}")
                exec(compile(block, str(page), "exec"), names)  # noqa: S102
        finally:
            os.chdir(before)
