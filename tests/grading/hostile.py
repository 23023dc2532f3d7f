"""Submissions that no grader should trust: what each does, in answers to the master of `classroom`.

None of them may run outside the fence. Each is held by a limit that a test has proven with
something harmless before.
"""

from tests.grading.classroom import RIGHT

GOOD = RIGHT["double"]


def first(source: str) -> dict[str, str]:
    """Return answers whose first is this, and whose second is right."""
    return {**RIGHT, "double": source}


ENDLESS = {
    "loop-in-a-cell": first(f"{GOOD}\nwhile True:\n    pass"),
    "loop-that-catches-all": first(
        "def double(x):\n    while True:\n        try:\n            while True: pass\n"
        "        except BaseException:\n            pass"
    ),
    "sleep": first("import time\ndef double(x):\n    time.sleep(1e6)"),
    "waits-for-input": first(f"{GOOD}\nname = input('who?')"),
    "threads-left-behind": first(
        f"import threading, time\nfor _ in range(5):\n"
        f"    threading.Thread(target=time.sleep, args=(1e6,)).start()\n{GOOD}"
    ),
    "signals-blocked": first(
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\n"
        "def double(x):\n    while True: pass"
    ),
}

DEADLY = {
    "os-exit-in-a-function": first("import os\ndef double(x):\n    os._exit(0)"),
    "kill-self": first(
        "import os, signal\ndef double(x):\n    os.kill(os.getpid(), signal.SIGKILL)"
    ),
    "kill-everything": first("import os\ndef double(x):\n    os.kill(-1, 9)\n    return 2 * x"),
    "segfault": first("import ctypes\ndef double(x):\n    ctypes.string_at(0)"),
    "sys-exit": first("import sys\ndef double(x):\n    sys.exit(0)"),
    "deep-recursion": first(
        "import sys\nsys.setrecursionlimit(10**9)\ndef double(x):\n    return double(x)"
    ),
}

GREEDY = {
    "fork-bomb": first(
        "import os\ndef double(x):\n    while True:\n        try:\n            os.fork()\n"
        "        except OSError:\n            pass"
    ),
    "daemons": first(
        "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        os.setsid()\n"
        f"        if os.fork() == 0:\n            time.sleep(1e6)\n        os._exit(0)\n{GOOD}"
    ),
    "memory-at-once": first("def double(x):\n    return bytearray(30 << 30)"),
    "memory-bit-by-bit": first(
        "kept = []\ndef double(x):\n    while True:\n        kept.append(bytearray(64 << 20))"
    ),
    "memory-to-the-last-byte": first(
        "kept = []\ndef double(x):\n    size = 64 << 20\n    while size > 512:\n        try:\n"
        "            kept.append(bytearray(size))\n        except MemoryError:\n"
        "            size //= 2\n    raise MemoryError"
    ),
    "memory-kept-by-a-cell": first(
        "kept = []\nwhile True:\n    kept.append(bytearray(1 << 20))\n" + GOOD
    ),
    "memory-in-children": first(
        "import os, time\ndef double(x):\n    for _ in range(6):\n        if os.fork() == 0:\n"
        "            kept = bytearray(b'x') * (700 << 20)\n            time.sleep(1e6)\n"
        "    time.sleep(1e6)"
    ),
    "output": first(f"for _ in range(50):\n    print('x' * 1_000_000)\n{GOOD}"),
    "output-without-end": first("def double(x):\n    while True:\n        print('x' * 100_000)"),
    "output-displayed": first(
        "from IPython.display import display, HTML\ndef double(x):\n    while True:\n"
        "        display(HTML('x' * 1_000_000))"
    ),
    "disk": first(
        "def double(x):\n    n = 0\n    while True:\n        n += 1\n"
        "        with open(f'/tmp/{n}', 'wb') as file:\n            file.write(b'x' * (32 << 20))"
    ),
    "files": first(
        "def double(x):\n    n = 0\n    while True:\n        n += 1\n"
        "        open(f'/tmp/{n}', 'w').close()"
    ),
    "open-files": first("def double(x):\n    kept = [open('/dev/null') for _ in range(100_000)]"),
}

FORGERS = {
    "forges-a-reply": first(
        "import json, os, struct\n"
        "body = b''.join(struct.pack('>I', len(one)) + one for one in (json.dumps(told).encode() "
        "for told in ({'begin': 2}, {'cell': 2, 'passed': True, 'text': chr(0xd800)}, "
        "{'junit': ''})))\n"
        "for number in range(3, 60):\n    for _ in range(4):\n        try:\n"
        "            os.write(number, body)\n"
        "        except OSError:\n            break\ndef double(x):\n    return None"
    ),
    "talks-nonsense": first(
        "import os\nfor number in range(3, 60):\n    try:\n"
        "        os.write(number, b'\\xff' * 64)\n    except OSError:\n        pass\n"
        "def double(x):\n    return None"
    ),
}

BURGLARS = {
    "writes-outside": first(
        "from pathlib import Path\ndone = []\nfor place in ('/', '/usr', '/etc', '/root', '/home', "
        "str(Path(getattr(math, '__file__', '/x')).parent), PROJECT, OUT, SUBMISSIONS, '/dev', "
        "'/proc', '/sys'):\n    try:\n        Path(place, 'course-was-here').write_text('x')\n"
        "        done.append(place)\n"
        "    except OSError:\n        pass\n"
        "def double(x):\n    raise AssertionError(f'WROTE {done}')"
    ),
    "reads-what-is-not-its-own": first(
        "import os\nseen = [place for place in (OUT, SUBMISSIONS, MASTER, PROJECT + '/solutions', "
        "PROJECT + '/tests', PROJECT + '/.git', PROJECT + '/.course', '/root/.ssh', '/etc/passwd', "
        "'/home', '/var/lib', '/sys/kernel')\n    if os.path.exists(place)]\n"
        "def double(x):\n    raise AssertionError(f'SAW {seen}')"
    ),
    "reaches-for-the-network": first(
        "import socket\nreached = []\nfor address in (('1.1.1.1', 53), ('127.0.0.1', PORT), "
        "('169.254.169.254', 80)):\n    try:\n        socket.create_connection(address, 1)\n"
        "        reached.append(address)\n    except OSError:\n        pass\n"
        "def double(x):\n    raise AssertionError(f'REACHED {reached}')"
    ),
    "deletes-the-gradebook": first(
        "import shutil\nfrom pathlib import Path\nfor place in (OUT, SUBMISSIONS):\n"
        "    shutil.rmtree(place, ignore_errors=True)\n"
        "    Path(place).unlink(missing_ok=True)\n" + GOOD
    ),
    "reads-the-hidden-checks": first(
        "import re\nwords = ['found'] * 2\nmine = ' '.join(words)\n"
        "found = {rb'the[ ]hidden[ ]-[3]': 0, rb'found[ ]found': 0}\n"
        "with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as memory:\n"
        "    for line in maps:\n        if ' rw-p ' not in line:\n            continue\n"
        "        begin, end = (int(part, 16) for part in line.split()[0].split('-'))\n"
        "        try:\n            memory.seek(begin)\n"
        "            text = memory.read(end - begin)\n        except OSError:\n"
        "            continue\n"
        "        for what in found:\n            found[what] += len(re.findall(what, text))\n"
        "hidden, own = found.values()\n"
        "def double(x):\n    raise AssertionError(f'HIDDEN {hidden} OWN {own > 0}')"
    ),
    "looks-at-processes": first(
        "import os\nseen = [p for p in os.listdir('/proc') if p.isdigit()]\n"
        "def double(x):\n    raise AssertionError(f'PROCESSES {len(seen)}')"
    ),
    "leaves-a-letter": first(
        "import os, pathlib\nfor place in ('/tmp', '/dev/shm', '/var/tmp'):\n"
        "    folder = pathlib.Path(place, 'letter')\n    folder.mkdir()\n"
        "    (folder / 'answer').write_text('2 * x')\n    os.chmod(folder, 0)\n" + GOOD
    ),
    "reads-the-letter": first(
        "import os\nfound = [place for place in ('/tmp', '/dev/shm', '/var/tmp') "
        "if os.path.exists(place + '/letter')]\n"
        "def double(x):\n    raise AssertionError(f'FOUND {found}')"
    ),
    "looks-into-the-parent": first(
        "import os\nparent = os.getppid()\ntold = []\n"
        "for name in ('mem', 'environ', 'maps', 'fd', 'root'):\n    try:\n"
        "        os.listdir(f'/proc/{parent}/{name}') if name in ('fd', 'root') else "
        "open(f'/proc/{parent}/{name}', 'rb').read(10)\n        told.append(name)\n"
        "    except OSError:\n        pass\n"
        "def double(x):\n    raise AssertionError(f'TOLD {told}')"
    ),
}
