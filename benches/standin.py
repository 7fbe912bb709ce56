"""railscope, and ib_read_bw beside it, on a verbs library that is no NIC: what `cost`, `paced` and `tests/faults` share.

The stand-in is a folder with a libibverbs.so.1 that simulates RoCE devices inside the process; none is part of this
project. The rails are named by a copied tree (`--root`), the data are moved by the library.
"""

import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import time


def tree(folder, devices):
    """A copied tree with these rails: only what the survey needs to offer them."""
    for number, device in enumerate(devices):
        port = folder / "sys/class/infiniband" / device / "ports/1"
        files = {
            "state": "4: ACTIVE", "phys_state": "5: LinkUp", "link_layer": "Ethernet", "rate": "400 Gb/sec (4X NDR)",
            "gids/3": f"0000:0000:0000:0000:0000:ffff:0a4d:01{number + 3:02x}", "gid_attrs/types/3": "RoCE v2",
            "counters/port_rcv_data": "0", "counters/port_xmit_data": "0",
        }
        for name, text in files.items():
            path = port / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        (port.parent.parent / "node_type").write_text("1: CA\n")
    cpus = folder / "sys/devices/system/cpu"
    cpus.mkdir(parents=True)
    (cpus / "online").write_text(f"0-{os.cpu_count() - 1}\n")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_listener(port, process, log):
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            if re.search(rf":{port:04X} 0+:0000 0A", pathlib.Path(table).read_text()):
                return
        time.sleep(0.02)
    sys.exit(f"{process.args[0]} does not listen on port {port}:\n{log.read_text()[-2000:]}")


class StandIn:
    """Where both programs find the stand-in, and what they are told."""

    def __init__(self, binary, library, folder, devices, **settings):
        self.binary, self.folder, self.devices = binary, folder, devices
        self.environment = {
            **os.environ, "LD_LIBRARY_PATH": str(library), "RAILSCOPE_IBVERBS": str(library / "libibverbs.so.1"),
            "NULLNIC_DEVICES": ",".join(devices), **settings,
        }
        self.root = folder / "tree"
        tree(self.root, devices)

    def start(self, words, name, prefix=()):
        """Starts a program; what it prints goes to two files."""
        with open(self.folder / f"{name}.out", "w") as out, open(self.folder / f"{name}.err", "w") as err:
            return subprocess.Popen([*prefix, *map(str, words)], env=self.environment, stdout=out, stderr=err)

    def text(self, name):
        return (self.folder / name).read_text(errors="replace")

    def serve(self, port, prefix=()):
        serving = self.start([self.binary, "serve", "--root", self.root, "--listen", f"127.0.0.1:{port}"], "serve", prefix)
        wait_for_listener(port, serving, self.folder / "serve.err")
        return serving

    def load_words(self, port, flags):
        return [self.binary, "load", f"127.0.0.1:{port}", "--root", self.root, "--headless", "--json", *flags]

    def load(self, flags, prefix=()):
        """One load against a server of its own; the report."""
        port = free_port()
        serving = self.serve(port)
        loading = self.start(self.load_words(port, flags), "load", prefix)
        status = loading.wait(600)
        end(serving)
        if status not in (0, 1):
            sys.exit(f"{' '.join(map(str, loading.args))} ended with {status}:\n{self.text('load.err')[-2000:]}")
        return json.loads(self.text("load.out"))

    def load_on_screen(self, flags, prefix=()):
        """One load with the screen open on a terminal of 40 x 120; the report of what it recorded."""
        session = self.folder / "screen.rsz"
        session.unlink(missing_ok=True)
        port = free_port()
        serving = self.serve(port)
        ours, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        words = [word for word in self.load_words(port, flags) if word not in ("--headless", "--json")]
        environment = {**self.environment, "TERM": "xterm-256color"}
        loading = subprocess.Popen([*prefix, *map(str, words), "--record", session], env=environment, stdin=terminal,
                                   stdout=terminal, stderr=terminal, start_new_session=True)
        os.close(terminal)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 1 << 16)
            except OSError:  # the last program closed its side
                break
        os.close(ours)
        status = loading.wait(60)
        end(serving)
        if status not in (0, 1) or self.devices[0].encode() not in shown:
            sys.exit(f"{' '.join(map(str, words))} ended with {status}:\n{shown[-2000:].decode(errors='replace')}")
        report = [self.binary, "report", session, "--format", "json"]
        return json.loads(subprocess.run(report, capture_output=True, text=True, timeout=60).stdout)

    def perftest(self, flags, prefix=()):
        """One ib_read_bw against another; what the client printed."""
        port = free_port()
        words = ["ib_read_bw", "-d", self.devices[0], "-p", port, "-F", "-N", *flags]
        serving = self.start(words, "serve")
        wait_for_listener(port, serving, self.folder / "serve.err")
        reading = self.start([*words, "127.0.0.1"], "load", prefix)
        status = reading.wait(600)
        end(serving)
        if status != 0:
            sys.exit(f"{' '.join(map(str, reading.args))} ended with {status}:\n{self.text('load.out')[-2000:]}")
        return self.text("load.out")


def end(process):
    process.send_signal(signal.SIGTERM)
    process.wait(30)
