"""examples/word2vec/get_data against a server on loopback: text and questions come, and are prepared.

usage: word2vec_get_data_test.py PATH_OF_GET_DATA PATH_OF_FLOTILLA
"""

import functools
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

SCRIPT, PROGRAM = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
TEXT = ("1-billion-word-language-modeling-benchmark-r13output/"
        "training-monolingual.tokenized.shuffled/")


def archive(files):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content.encode()))
    return data.getvalue()


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class GetDataTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.served = pathlib.Path(self.dir.name) / "served"
        self.served.mkdir()
        self.out = pathlib.Path(self.dir.name) / "out"
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Handler, directory=self.served))
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        self.dir.cleanup()

    def run_script(self, text, questions):
        (self.served / "text.tar.gz").write_bytes(archive(text))
        (self.served / "questions.tar").write_bytes(archive(questions))
        url = f"http://127.0.0.1:{self.server.server_port}"
        env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        env["FLOTILLA"] = str(PROGRAM)
        return subprocess.run([SCRIPT, "--url", f"{url}/text.tar.gz", "--test_url",
                               f"{url}/questions.tar", "--parts", "4", "--out", self.out],
                              capture_output=True, text=True, timeout=60, env=env)

    def test_the_text_becomes_a_dictionary_ids_and_parts(self):
        lines = "The cat sat .\n" * 6 + "a dog\n"
        run = self.run_script({TEXT + "news-1": lines, TEXT + "news-2": "the cat\n"},
                              {"data/test_dir/questions.txt": "a b c d\n"})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual((self.out / "data/test_build_dict").read_text(),
                         "cat 7\nthe 7\nsat 6\n<UNK> 2\n")
        self.assertEqual((self.out / "data/test_build_dict_word_to_id_").read_text(),
                         "cat 0\nthe 1\nsat 2\n<UNK> 3\n")
        ids = sorted(p.name for p in (self.out / "data/convert_text8").iterdir())
        self.assertEqual(ids, ["news-1", "news-2"])
        parts = sorted(p.name for p in (self.out / "train_data").iterdir())
        self.assertEqual(parts, ["part-0", "part-1", "part-2", "part-3"])
        kept = "".join((self.out / "train_data" / part).read_text() for part in parts)
        self.assertEqual(kept.count("\n"), 8)
        self.assertEqual((self.out / "test_data/questions.txt").read_text(), "a b c d\n")

    def test_an_archive_of_another_form_is_named(self):
        run = self.run_script({"other/news": "x\n"}, {"data/test_dir/q": "a\n"})
        self.assertEqual(run.returncode, 1)
        self.assertIn("text.tar.gz has no 1-billion-word", run.stderr)


if __name__ == "__main__":
    if subprocess.run("command -v curl || command -v wget", shell=True,
                      capture_output=True).returncode != 0:
        print("skipped: no curl or wget")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
