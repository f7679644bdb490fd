"""The sweep stops by itself and says where; its clock is ours here, so no test waits."""

import math

import pytest

from owi_core.probes.timing import Sweep, cpu_seconds, slope, sweep


class FakeClock:
    """A clock that only moves when work is done."""

    def __init__(self) -> None:
        self.now = 0.0
        self.made: list[int] = []

    def __call__(self) -> float:
        return self.now

    def work_of(self, power, unit=1.0):
        def make(length):
            self.made.append(length)

            def work():
                self.now += unit * length**power

            return work

        return make


def run(clock, power, lengths, *, cap_seconds=1e9, cap_bytes=10**9, bytes_of=lambda T: T) -> Sweep:
    return sweep(
        clock.work_of(power),
        lengths,
        cap_seconds=cap_seconds,
        cap_bytes=cap_bytes,
        bytes_of=bytes_of,
        clock=clock,
    )


@pytest.mark.parametrize("power", [0.5, 1, 2, 3])
def test_slope_is_the_exponent_of_the_work(power):
    found = run(FakeClock(), power, [2, 4, 8, 16])
    assert found.slope == pytest.approx(power)
    assert found.seconds == pytest.approx([length**power for length in (2, 4, 8, 16)])
    assert (found.stopped, found.stopped_at) == ("", None)


def test_slope_reads_the_upper_half_only():
    assert slope([1, 2, 4, 8], [9.0, 9.0, 1.0, 4.0]) == pytest.approx(2)


@pytest.mark.parametrize(("lengths", "seconds"), [([], []), ([4], [1.0]), ([2, 4], [0.0, 1.0])])
def test_slope_of_too_few_points_or_of_no_time_is_no_number(lengths, seconds):
    assert math.isnan(slope(lengths, seconds))


def test_sweep_stops_before_the_length_that_would_not_fit_the_time():
    clock = FakeClock()
    # Four calls each: 4·(1 + 4 + 16) = 84 are spent; length 8 is foretold to take 4·64 = 256.
    found = run(clock, 2, [1, 2, 4, 8, 16], cap_seconds=84 + 255)
    assert (found.lengths, found.stopped, found.stopped_at) == ((1, 2, 4), "time", 8)
    assert clock.made == [1, 2, 4]


def test_sweep_continues_when_the_predicted_time_just_fits():
    found = run(FakeClock(), 2, [1, 2, 4, 8], cap_seconds=84 + 257)
    assert found.lengths == (1, 2, 4, 8)


@pytest.mark.parametrize("cap", [10.0, 100.0, 1000.0])
def test_sweep_of_even_work_never_overruns_its_time(cap):
    clock = FakeClock()
    run(clock, 2, [2**n for n in range(12)], cap_seconds=cap)
    assert clock.now <= cap


def test_sweep_asks_for_the_memory_before_anything_is_made():
    clock = FakeClock()
    found = run(clock, 1, [2, 4, 8, 16], cap_bytes=63, bytes_of=lambda T: T * T)
    assert (found.lengths, found.stopped, found.stopped_at) == ((2, 4), "memory", 8)
    assert clock.made == [2, 4]


def test_sweep_without_room_for_the_first_length_says_so():
    found = run(FakeClock(), 1, [2, 4], cap_bytes=1)
    assert (found.lengths, found.seconds, found.stopped_at) == ((), (), 2)
    assert math.isnan(found.slope)


def test_time_is_the_median_after_one_call_that_warms_up():
    clock = FakeClock()
    takes = iter([100.0, 3.0, 50.0, 2.0])

    def work():
        clock.now += next(takes)

    assert cpu_seconds(work, repeats=3, clock=clock) == 3.0
