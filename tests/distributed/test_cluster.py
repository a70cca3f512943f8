"""`spacy ssvm apply --address`: annotation by the workers of a Ray cluster, some of which are killed."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .toy import WIDE, command, contents, descendants, docs_of, lines, refused, send

LOCAL = ("--workers", "2", "--address", "local")


def test_error_names_the_extra(place: Path, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert 'pip install "spacy-ssvm[ray]"' in refused(place, [many], tmp_path / "out", *LOCAL)


@pytest.mark.usefixtures("ray")
class TestWithRay:
    def test_shards_of_dead_workers_are_annotated_anew(self, place, many, expected, tmp_path) -> None:
        run = command(place, [many], tmp_path / "out", *LOCAL)
        started = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        chance, n_killed, deadline = random.Random(0), 0, time.monotonic() + 600
        while started.poll() is None and time.monotonic() < deadline:
            time.sleep(0.3)
            workers = [number for number, name in descendants(started.pid).items() if name.startswith("ray::_Worker")]
            if n_killed < 3 and workers and list((tmp_path / "out").glob("*.spacy")):
                n_killed += send(chance.choice(workers), signal.SIGKILL)
        assert started.poll() == 0 and n_killed
        assert contents(tmp_path / "out") == expected

    @pytest.mark.slow
    def test_killed_run_goes_on(self, place, many, expected, tmp_path) -> None:
        run = command(place, [many], tmp_path / "out", *LOCAL)
        started = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not list((tmp_path / "out").glob("*.spacy")) and started.poll() is None:
            time.sleep(0.05)
        started.kill()
        assert started.wait() == -signal.SIGKILL
        assert subprocess.run(run, capture_output=True, timeout=120).returncode == 0
        assert contents(tmp_path / "out") == expected

    @pytest.mark.slow
    def test_document_that_kills_each_worker_ends_the_run(self, place, tmp_path) -> None:
        texts = lines(tmp_path, [f"Good.{WIDE}"] * 20 + ["This is deadly."])
        run = command(place, [texts], tmp_path / "out", *LOCAL)
        done = subprocess.run(run, capture_output=True, text=True, timeout=120)
        output = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == 1 and "died 4 times" in output and f"{texts}, line" in output
        assert {doc.text.strip() for doc in docs_of(tmp_path / "out")} == {"Good."}

    @pytest.mark.slow
    def test_worker_that_cannot_load_the_pipeline_ends_the_run(self, place, many, tmp_path) -> None:
        code = tmp_path / "code.py"
        fails_in_workers = "import sys\nif 'default_worker' in sys.argv[0]:\n    raise OSError('no')\n"
        code.write_text(fails_in_workers + (place / "code.py").read_text("utf8"), "utf8")
        run = [part.replace(str(place / "code.py"), str(code)) for part in command(place, [many], tmp_path / "out")]
        done = subprocess.run([*run, *LOCAL], capture_output=True, text=True, timeout=120)
        output = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == 1 and "a worker cannot start" in output and "OSError: no" in output

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("address", "complaint"),
        [("127.0.0.1:9", "no cluster answers"), ("nowhere", "must be local, auto, or HOST:PORT")],
    )
    def test_no_cluster_at_the_address(self, place, many, tmp_path, address, complaint) -> None:
        run = command(place, [many], tmp_path / "out", "--address", address)
        done = subprocess.run(run, capture_output=True, text=True, timeout=60)
        output = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == 1 and complaint in output and "Traceback" not in output

    @pytest.mark.slow
    def test_more_workers_than_cpus(self, place, many, tmp_path) -> None:
        ray, address = Path(sys.executable).with_name("ray"), "127.0.0.1:6399"
        settings = os.environ | {"RAY_AUTH_MODE": "disabled"}
        # In the foreground, so that it can be stopped alone: `ray stop` stops all clusters of this machine.
        head = [ray, "start", "--head", "--block", "--port", "6399", "--num-cpus", "1", "--include-dashboard", "false"]
        cluster = subprocess.Popen(head, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=settings)
        try:
            wait_for_answer(6399, deadline=time.monotonic() + 60)
            run = command(place, [many], tmp_path / "out", "--address", address)
            refused = subprocess.run([*run, "--workers", "2"], capture_output=True, text=True, timeout=60, env=settings)
            assert refused.returncode == 1 and "the cluster has 1 CPUs" in " ".join(refused.stdout.split())
            assert subprocess.run(run, capture_output=True, timeout=120, env=settings).returncode == 0
        finally:
            cluster.terminate()
            cluster.wait(60)


def wait_for_answer(port: int, deadline: float) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "the cluster has not started"
            time.sleep(0.2)
