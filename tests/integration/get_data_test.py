"""examples/ctr_dnn/get_data against a server on loopback: downloads, checks, unpacks, resumes.

usage: get_data_test.py PATH_OF_GET_DATA
"""

import hashlib
import http.server
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

SCRIPT = pathlib.Path(sys.argv[1]).resolve()


def archive():
    """A small archive in the form of the real one."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name in ["raw_data/part-0", "raw_data/part-2", "raw_data/part-10", "test_data/part-1"]:
            content = f"rows of {name}\n".encode()
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return data.getvalue()


class Server(http.server.BaseHTTPRequestHandler):
    """Serves the archive as a whole or from an offset on; anything else is not there."""

    content = b""

    def do_GET(self):
        if self.path != "/ctr_data.tar.gz":
            self.send_error(404)
            return
        begin = 0
        wanted = self.headers.get("Range")
        if wanted:
            begin = int(wanted.removeprefix("bytes=").split("-")[0])
            self.send_response(206)
            size = len(self.content)
            self.send_header("Content-Range", f"bytes {begin}-{size - 1}/{size}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(self.content) - begin))
        self.end_headers()
        self.wfile.write(self.content[begin:])

    def log_message(self, *_):
        pass


class GetDataTest(unittest.TestCase):
    def setUp(self):
        Server.content = archive()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/ctr_data.tar.gz"
        self.dir = tempfile.TemporaryDirectory()
        self.out = pathlib.Path(self.dir.name) / "data"

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        self.dir.cleanup()

    def run_script(self, *args, url=None):
        env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        return subprocess.run([SCRIPT, "--url", url or self.url, "--out", self.out, *args],
                              capture_output=True, text=True, timeout=60, env=env)

    def test_unpacks_all_parts_and_the_first_two_for_a_quick_look(self):
        run = self.run_script("--sha256", hashlib.sha256(Server.content).hexdigest())
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(len(list((self.out / "train_data_full").iterdir())), 3)
        self.assertEqual(sorted(p.name for p in (self.out / "train_data").iterdir()), ["part-0", "part-2"])
        self.assertEqual((self.out / "train_data/part-2").read_text(), "rows of raw_data/part-2\n")
        self.assertEqual((self.out / "test_data/part-1").read_text(), "rows of test_data/part-1\n")

    def test_a_wrong_checksum_is_refused_and_the_archive_removed(self):
        run = self.run_script("--sha256", "0" * 64)
        self.assertEqual(run.returncode, 1)
        self.assertIn("was expected", run.stderr)
        self.assertEqual(list(self.out.iterdir()), [])

    def test_a_later_download_must_be_the_first_one(self):
        self.assertEqual(self.run_script().returncode, 0)
        Server.content += b"x"
        run = self.run_script()
        self.assertEqual(run.returncode, 1)
        self.assertIn("has the checksum", run.stderr)

    def test_an_interrupted_download_goes_on(self):
        self.out.mkdir()
        (self.out / "ctr_data.tar.gz.part").write_bytes(Server.content[:100])
        run = self.run_script("--sha256", hashlib.sha256(Server.content).hexdigest())
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_failures_name_the_url(self):
        run = self.run_script(url=self.url + ".missing")
        self.assertEqual(run.returncode, 1)
        self.assertIn(".missing", run.stderr)
        Server.content = b"no archive"
        run = self.run_script()
        self.assertEqual(run.returncode, 1)
        self.assertIn("is not a gzipped tar archive", run.stderr)


if __name__ == "__main__":
    if subprocess.run("command -v curl || command -v wget", shell=True,
                      capture_output=True).returncode != 0:
        print("skipped: no curl or wget")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
