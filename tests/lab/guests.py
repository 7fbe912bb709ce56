"""Two virtual hosts, a and b, each with two NUMA nodes and four NICs, cabled nicN to nicN; and a way to run scripts in them.

A script goes to the guest as a file in a folder both sides see; its number goes over a serial line, and comes back with
the exit status when the script is done. So several run in one guest at once: a server here, its client there.
"""

import itertools
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

RAILS = range(4)
BOOT_SECONDS = 300


def node_of(rail):
    """The NUMA node that the lab puts a rail on: rail0 and rail1 on node 0, rail2 and rail3 on node 1."""
    return rail // 2


def address_of(rail, host):
    """The IPv4 address that `init` gives a rail."""
    return f"10.77.{rail}.{ord(host) - 96}"


class LabError(Exception):
    """Something in the lab itself went wrong: no boot, no answer in time, an unexpected exit status."""


class Unresponsive(LabError):
    """A guest did not boot, or no longer runs even `true`; that says nothing about what was to be proved."""


class Job:
    """A script in a guest, running or done."""

    def __init__(self, guest, number, script):
        self.guest, self.number, self.script = guest, number, script
        self.status = None
        self.done = threading.Event()

    def _text(self, kind):
        path = self.guest.folder / f"{self.number}.{kind}"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def out(self):
        return self._text("out")

    @property
    def err(self):
        return self._text("err")

    def wait(self, seconds):
        """Waits for the end and returns the job; any exit status is fine."""
        if not self.done.wait(seconds):
            if not self.guest.answers():
                # the kernel says there what it is stuck in
                console = tail(self.guest.console.read_text(errors="replace"), 60)
                raise Unresponsive(f"host {self.guest.name} stopped answering; the end of its console:\n{console}\n ")
            raise LabError(f"{self} was not done after {seconds} s; so far:\n{tail(self.out)}\n{tail(self.err)}")
        return self

    def succeed(self, seconds):
        """Waits for the end and returns what was printed; any exit status but 0 is an error."""
        if self.wait(seconds).status != 0:
            raise LabError(f"{self} ended with status {self.status}:\n{tail(self.out)}\n{tail(self.err)}")
        return self.out

    def wait_for_text(self, text, seconds):
        """Waits until the script has printed `text`, to either stream."""
        until = time.monotonic() + seconds
        while text not in self.out + self.err:
            if self.done.is_set() or time.monotonic() > until:
                raise LabError(f"{self} never printed {text!r}:\n{tail(self.out)}\n{tail(self.err)}")
            time.sleep(0.05)

    def kill(self):
        """Ends the script and all that it started."""
        self.guest.run(f"kill -KILL -$(cat /mnt/{self.guest.name}/{self.number}.pid) || true")
        self.wait(20)

    def __str__(self):
        return f"{self.guest.name}# {self.script.strip()}"


class Guest:
    """One virtual host. `folder` here is `/mnt/NAME` in there."""

    def __init__(self, name, peer, image, share, wires):
        self.name, self.share, self.folder = name, share, share / name
        self.folder.mkdir(parents=True)
        self.console = share / f"console.{name}"
        self._numbers = itertools.count(1)
        self._jobs = {}
        self._ready = threading.Event()
        self._failed = []
        line = f"{wires}/line.{name}"
        self._process = subprocess.Popen(
            machine(name, peer, image, share, wires, line),
            stdin=subprocess.DEVNULL,
            stderr=open(share / f"qemu.{name}", "w"),
            start_new_session=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {one_core(name)}),
        )
        self._line = self._connect(line)
        threading.Thread(target=self._listen, daemon=True).start()

    def _connect(self, path):
        until = time.monotonic() + 20
        while True:
            line = socket.socket(socket.AF_UNIX)
            try:
                line.connect(path)
                return line
            except OSError as error:
                line.close()
                if self._process.poll() is not None or time.monotonic() > until:
                    said = (self.share / f"qemu.{self.name}").read_text()
                    raise LabError(f"QEMU for host {self.name} did not start: {said or error}") from error
                time.sleep(0.05)

    def _listen(self):
        for text in self._line.makefile():
            words = text.split()
            if words[:1] == ["failed"]:
                self._failed.append(text.strip())
            elif words == ["ready"]:
                self._ready.set()
            elif len(words) == 2 and (job := self._jobs.get(words[0])):
                job.status = int(words[1])
                job.done.set()

    def wait_for_boot(self):
        if not self._ready.wait(BOOT_SECONDS):
            raise Unresponsive(f"host {self.name} did not boot in {BOOT_SECONDS} s; its console:\n{tail(self.console.read_text())}")
        if self._failed:
            raise LabError(f"host {self.name} booted, but {'; '.join(self._failed)}")

    def start(self, script):
        """Starts a shell script in the guest."""
        number = str(next(self._numbers))
        job = self._jobs[number] = Job(self, number, script)
        (self.folder / f"{number}.sh").write_text(script)
        self._line.sendall(f"{number}\n".encode())
        return job

    def run(self, script, seconds=60):
        """Runs a shell script in the guest to its end and returns what it printed; it must exit with 0."""
        return self.start(script).succeed(seconds)

    def answers(self):
        return self.start("true").done.wait(30)

    def stalled(self):
        """What its kernel says of an emulated NIC that takes packets and sends none; nothing while all of them send."""
        said = self.console.read_text(errors="replace").splitlines()
        return "\n".join(line for line in said if "NETDEV WATCHDOG" in line)

    def end_jobs(self):
        """Ends what a failed step left running."""
        for job in [job for job in self._jobs.values() if not job.done.is_set()]:
            job.kill()

    def stop(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def one_core(name):
    """The core of this machine that a host runs on; a and b have one each where there are two.

    A host's kernel and its emulated NICs run in two threads of QEMU. Whether the kernel has to wake a NIC is settled by
    each side writing its own word and then reading the other's, with a barrier between; but where one thread emulates
    all CPUs, QEMU leaves the guest's locked instructions, which are its barriers, without one (seen with 7.2). On two
    cores both sides can then miss each other: the NIC never sends again (`NETDEV WATCHDOG: transmit queue 0 timed out`
    on the console, 1 in some 20 runs of ib_read_bw over 4 s). Two threads on one core cannot.
    """
    cores = sorted(os.sched_getaffinity(0))
    return cores[(ord(name) - ord("a")) % len(cores)]


def machine(name, peer, image, share, wires, line):
    """The QEMU command line of one host.

    Software emulation unless LAB_ACCEL says otherwise (LAB_ACCEL=kvm): a machine under virtualisation itself often has a
    /dev/kvm that hangs. One thread emulates all CPUs of a host. With a thread each (QEMU 7.2) a guest hangs now and then
    where its kernel rewrites its own code, which it does whenever a perf event comes or goes: a CPU goes on executing the
    breakpoint that stood there for a moment (soft lockup in text_poke_bp, asm_exc_int3 under __schedule). It is no slower
    on two cores, and boots faster on busy ones.
    """
    command = shlex.split(
        f"qemu-system-x86_64 -accel {os.environ.get('LAB_ACCEL', 'tcg,thread=single')} -cpu max -machine q35 -m 2G"
        " -smp 4,sockets=2,cores=2 -display none -monitor none -no-reboot -nic none"
        " -object memory-backend-ram,id=memory0,size=1G -object memory-backend-ram,id=memory1,size=1G"
        " -numa node,nodeid=0,cpus=0-1,memdev=memory0 -numa node,nodeid=1,cpus=2-3,memdev=memory1"
        " -numa dist,src=0,dst=1,val=32"
        " -device pxb-pcie,id=socket0,bus_nr=16,numa_node=0,bus=pcie.0"
        " -device pxb-pcie,id=socket1,bus_nr=32,numa_node=1,bus=pcie.0"
    )
    for rail in RAILS:
        port = f"pcie-root-port,id=port{rail},bus=socket{node_of(rail)},chassis={rail + 1},slot={rail + 1}"
        ends = [f"{end}.type=unix,{end}.path={wires}/{rail}.{host}" for end, host in (("local", name), ("remote", peer))]
        mac = f"52:54:00:77:{ord(name):02x}:{rail:02x}"
        command += ["-device", f"{port},x-speed=16,x-width=16"]
        command += ["-netdev", f"dgram,id=wire{rail},{','.join(ends)}"]
        command += ["-device", f"virtio-net-pci,netdev=wire{rail},bus=port{rail},mac={mac}"]
    command += ["-fsdev", f"local,id=share,path={share},security_model=none"]
    command += ["-device", "virtio-9p-pci,fsdev=share,mount_tag=share,bus=pcie.0"]
    command += ["-kernel", f"{image}/vmlinuz", "-initrd", f"{image}/initrd.gz"]
    # On a busy machine the kernel's test of its timer counts too few ticks and gives up on booting, and its calibration
    # of delay loops takes seconds a CPU: neither is made.
    command += ["-append", f"console=ttyS0 loglevel=5 panic=-1 no_timer_check lpj=4000000 mitigations=off lab_host={name}"]
    command += ["-serial", f"file:{share}/console.{name}", "-serial", f"unix:{line},server=on,wait=off"]
    return command


class Lab:
    """Both hosts, booted; leaving the block stops them.

    What lies in `payload` is at `/mnt` in the guests. Each boot has a folder of its own in `folder`.
    """

    def __init__(self, image, payload, folder):
        self._image, self._payload, self._folder = map(pathlib.Path, (image, payload, folder))
        self._boots = itertools.count(1)
        self.guests = []

    def boot(self):
        """Boots both hosts anew and returns them."""
        self.stop()
        share = self._folder / f"boot{next(self._boots)}"
        shutil.copytree(self._payload, share)
        self._wires = tempfile.TemporaryDirectory(prefix="lab-")
        for name, peer in (("a", "b"), ("b", "a")):
            self.guests.append(Guest(name, peer, self._image, share, self._wires.name))
        for guest in self.guests:
            guest.wait_for_boot()
        return self.guests

    def stop(self):
        for guest in self.guests:
            guest.stop()
        if self.guests:
            self.guests = []
            self._wires.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def pack(binary, payload):
    """Lays the binary and the libraries it is linked with where the guests find them; a development build is slimmed."""
    if subprocess.run(["strip", "-o", payload / "railscope", binary]).returncode != 0:
        shutil.copy(binary, payload / "railscope")
    (payload / "lib").mkdir()
    linked = subprocess.run(["ldd", binary], capture_output=True, text=True).stdout
    for path in re.findall(r"=> (/\S+)", linked):
        shutil.copy(path, payload / "lib")


def boot(lab):
    """Both hosts, with the binary in place; a boot that hangs is tried once more."""
    try:
        hosts = lab.boot()
    except Unresponsive as error:
        print(f"lab: {error}\nlab: booting both again")
        hosts = lab.boot()
    for host in hosts:
        host.run("cp /mnt/railscope /bin/ && railscope --version")
    return hosts


def tail(text, lines=25):
    """The end of a long text, indented."""
    return "\n".join("    " + line for line in text.splitlines()[-lines:])
