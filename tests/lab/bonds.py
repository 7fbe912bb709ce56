"""Bonds in the lab: two of the rails' netdevs become the legs of one, at both ends, and a rail over it is loaded."""

import contextlib

from guests import tail
from steps import Server, TIMEOUT, expect, moves, rails_of, report_of
from verdicts import expect_only, kept, told

LEGS = (0, 1)
# Before the load queue pairs are opened and closed again in search of labels with which each leg receives; emulated hosts
# then send a packet or two again now and then.
BESIDES = ("retransmit bondrail",)
# One packet a READ and one READ at a time: what goes over both legs in turn cannot overtake itself.
ONE_PACKET = "--qps 1 --size 4096 --depth 1"


def bond_address(guest):
    return f"10.77.8.{ord(guest.name) - 96}"


@contextlib.contextmanager
def bonded(guests, mode):
    """nic0 and nic1 of each host as the legs of bond0, with a rail over it, for the length of a block."""
    legs = " ".join(str(leg) for leg in LEGS)
    for guest in guests:
        guest.run(
            f"set -e; ip link add bond0 type bond mode {mode} miimon 100\n"
            f"for leg in {legs}; do rdma link delete rail$leg; ip link set nic$leg down; ip link set nic$leg master bond0; done\n"
            f"ip link set bond0 mtu 4200 up; ip address add {bond_address(guest)}/24 dev bond0\n"
            "rdma link add bondrail type rxe netdev bond0"
        )
    try:
        yield
    finally:
        for guest in guests:
            number = bond_address(guest).rpartition(".")[2]
            guest.run(
                "set -e; rdma link delete bondrail; ip link delete bond0\n"
                f"for leg in {legs}; do ip link set nic$leg mtu 4200 up; ip address replace 10.77.$leg.{number}/24 dev nic$leg\n"
                "rdma link add rail$leg type rxe netdev nic$leg; done"
            )


def load_command(peer, seconds, session):
    return (
        f"railscope load {bond_address(peer)} --rails bondrail {ONE_PACKET} --timeout {TIMEOUT} --warmup 1s"
        f" --for {seconds}s --headless --json --record {kept(session)}"
    )


def report_of_load(a, b, seconds, session):
    with Server(b):
        command = load_command(b, seconds, session)
        job = a.start(command).wait(seconds + 60)
    expect(job.status in (0, 1), f"the load ended with {job.status}:\n{tail(job.err)}")
    return report_of(job.out, command)


def legs_in_mb(report):
    bond = rails_of(report)["bondrail"]["bond"]
    return ", ".join(f"{leg['netdev']} {(leg['rx_gb_per_s'] or 0) * 1e3:.2f} MB/s" for leg in bond["legs"])


def one_flow_on_a_bond(a, b, _):
    """one flow over a balance-xor bond is on one leg, and named for it; over balance-rr it is on both, and is not"""
    for mode, expected in (("balance-xor xmit_hash_policy layer3+4", ["bond-leg-imbalance bondrail"]), ("balance-rr", [])):
        with bonded((a, b), mode):
            report = report_of_load(a, b, 6, mode.split()[0])
        print(f"  {mode.split()[0]}: {legs_in_mb(report)}")
        told(report, "bond-leg-imbalance")
        expect_only(report, expected, BESIDES)


def leg_down(a, b, _):
    """a leg that goes down at both ends in mid-load is named, and the load goes on over the other"""
    with bonded((a, b), "balance-xor"):
        with Server(b):
            command = load_command(b, 14, "leg-down")
            job = a.start(command)
            moves(a, "bond0")
            for guest in (a, b):
                guest.run("ip link set nic1 down")
            job.wait(90)
        expect(job.status in (0, 1), f"the load ended with {job.status}:\n{tail(job.err)}")
        report = report_of(job.out, command)
        print(f"  {legs_in_mb(report)}")
        told(report, "bond-leg-down")
        expect_only(report, ["bond-leg-down bondrail"], BESIDES)


ALL = [one_flow_on_a_bond, leg_down]
