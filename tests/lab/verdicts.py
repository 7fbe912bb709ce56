"""Faults planted in the lab, and the verdicts on them: the right code on the right device, and nothing else that is wrong."""

import collections
import contextlib
import json
import re

from guests import address_of, tail
from steps import (
    PERFTEST_PORT,
    SHAPE,
    Server,
    TIMEOUT,
    expect,
    load,
    load_command,
    perftest_command,
    report_of,
    wait_for_listener,
)


def wrong(report):
    """What is a warning or worse, as `code device,device`."""
    bad = [found for found in report["findings"] if found["severity"] != "info"]
    return sorted(f"{found['code']} {','.join(found['devices'])}" for found in bad)


TIMES_KEPT = collections.Counter()


def kept(name):
    """Where a step of host a keeps its session: some of those in `recordings/` are such, masked.

    A step that is made once more keeps another, since railscope writes over none.
    """
    TIMES_KEPT[name] += 1
    again = "" if TIMES_KEPT[name] == 1 else f"-{TIMES_KEPT[name]}"
    return f"/mnt/a/lab-{name}{again}.rsz"


def told(report, code):
    for found in report["findings"]:
        if found["code"] == code:
            print(f"  {found['message']}\n    > {found['advice']}")


def expect_only(report, expected, besides=()):
    found = [finding for finding in wrong(report) if finding not in besides]
    expect(found == expected, f"expected {expected} and nothing else above info, found {found}:\n{json.dumps(report['findings'], indent=1)}")


def untouched(a, b, _):
    """two rails under load, with nothing planted: no finding above info"""
    with Server(b):
        report = load(a, "b", (0, 2), 6, record=kept("healthy"))
    expect_only(report, [])
    print(f"  {', '.join(found['code'] for found in report['findings']) or 'nothing at all'}, all of it info")


@contextlib.contextmanager
def shaped(guest, rail, how):
    """A discipline on what a rail sends, for the length of a block."""
    guest.run(f"tc qdisc add dev nic{rail} root netem {how}")
    try:
        yield
    finally:
        guest.run(f"tc qdisc del dev nic{rail} root")


def packet_loss(a, b, _):
    """a rail that loses one packet in twenty is named for its retransmissions, and the other rail is not"""
    with Server(b), shaped(b, 0, "loss 5%"):
        command = load_command("b", (0, 2), 12, record=kept("packet-loss")).replace(f"--timeout {TIMEOUT}", "--timeout 17")
        job = a.start(command + " --headless --json").wait(90)
    expect(job.status in (0, 1), f"the load ended with {job.status}:\n{tail(job.err)}")
    report = report_of(job.out, command)
    told(report, "retransmit")
    expect_only(report, ["retransmit rail0"])


def mtu_lowered(a, b, _):
    """a rail whose netdev has a smaller MTU than the others is named, and is not when it is as before"""
    a.run("ip link set nic1 mtu 1500")
    try:
        report = report_of(a.run("railscope check --for 1s --json || true"), "railscope check")
    finally:
        a.run("ip link set nic1 mtu 4200")
    told(report, "mtu-differs")
    expect_only(report, ["mtu-differs rail1"])
    expect_only(report_of(a.run("railscope check --for 1s --json"), "railscope check"), [])


def two_pollers(a, b, _):
    """two readers bound to one core are named together"""
    jobs = []
    for rail in (0, 1):
        port = f"-p {PERFTEST_PORT + rail} "
        target = b.start(perftest_command(rail, 60).replace("ib_read_bw ", f"ib_read_bw {port}"))
        wait_for_listener(target, PERFTEST_PORT + rail)
        reader = a.start("taskset -c 0 " + perftest_command(rail, 60, "b").replace("ib_read_bw ", f"ib_read_bw {port}"))
        jobs += [target, reader]
    a.run("until [ $(rdma resource show qp | grep -c 'state RTS.*comm ib_read_bw') = 2 ]; do sleep 0.1; done")
    report = report_of(a.start("railscope check --for 5s --json").wait(60).out, "railscope check")
    for job in jobs:
        job.kill()
    told(report, "shared-core")
    expect_only(report, ["shared-core rail0,rail1"])


def lost_binding(a, b, _):
    """a binding that a wrapper undoes is caught by what came of it, and one that holds is near"""
    a.run("printf '%s\\n' '#!/bin/sh' 'exec taskset -c 2,3 ib_read_bw \"$@\" > /tmp/reader' > /tmp/launch.sh; chmod +x /tmp/launch.sh")
    a.run("printf '%s\\n' '#!/bin/sh' 'exec ib_read_bw \"$@\" > /tmp/reader' > /tmp/honest.sh; chmod +x /tmp/honest.sh")
    for script, status in (("/tmp/launch.sh", 1), ("/tmp/honest.sh", 0)):
        target = b.start(perftest_command(0, 8))
        wait_for_listener(target, PERFTEST_PORT)
        words = perftest_command(0, 8, "b").removeprefix("ib_read_bw ")
        job = a.start(f"railscope pins --json -- numactl --cpunodebind=0 --membind=0 {script} {words}").wait(90)
        target.kill()
        expect(job.status == status, f"{script}: pins ended with {job.status}:\n{tail(job.out)}\n{tail(job.err)}")
        pinned = json.loads(job.out)["processes"]
        expect(len(pinned) == 1, f"processes: {pinned}")
        seen = pinned[0]
        print(f"  {script}: {seen['name']} on CPUs {seen['cpus']}: {seen['verdict']}")
        for lost in seen["lost"]:
            print(f"    {lost}")
        expect([rail["device"] for rail in seen["rails"]] == ["rail0"], f"rails: {seen['rails']}")
        rail = seen["rails"][0]
        print(f"    {rail['memory_regions']} memory region of {rail['registered_bytes']} bytes")
        # ib_read_bw registers two buffers of a message in one piece, each on cache lines of its own
        expect(rail["memory_regions"] == 1 and rail["registered_bytes"] >= 2 * SHAPE["size_bytes"], f"registered: {rail}")
        if status:
            expect(len(seen["lost"]) == 1 and re.search(r"CPUs off 0-1", seen["lost"][0]), f"lost: {seen['lost']}")


def diagnosed(a, b, _):
    """diagnose: a rail on which the other host loses packets is slow for its fabric, as both hosts counted, and the other is not"""
    command = (
        f"railscope diagnose {address_of(0, 'b')} --rails rail0,rail2 --for 2s --size 4096 --qps {SHAPE['qps']}"
        f" --depth {SHAPE['depth']} --timeout 17 --json"
    )
    with Server(b), shaped(b, 0, "loss 6%"):
        job = a.start(command).wait(300)
    expect(job.status == 1, f"{command} ended with {job.status}:\n{tail(job.err)}")
    said = json.loads(job.out)
    rails = {rail["device"]: rail for rail in said["rails"]}
    because = {held["id"]: held["because"] for held in rails["rail0"]["hypotheses"]}
    print(f"  {len(said['experiments'])} loads in {said['took_s']:.0f} s; rail0: {rails['rail0']['slow_because']}")
    print(f"  H5: {because.get('H5')}")
    causes = {device: rail["cause"] for device, rail in rails.items()}
    # what the emulator is busy with may make the other look slow as well, but nothing explains that
    expect(causes["rail0"] == "retransmit" and causes["rail2"] in (None, "slow-unexplained"), f"causes: {causes}")
    expect("this end yes" in because["H5"] and "on lab-b yes" in because["H5"], f"H5: {because['H5']}")


ALL = [untouched, packet_loss, mtu_lowered, two_pollers, lost_binding, diagnosed]
