"""Work on partitions in tests; a module of its own so that processes of a cluster find it."""

import os
import time

import numpy as np


def remember(partition):
    """Build a state that is all there is to know of a partition."""
    weight = None if partition.weight is None else np.array(partition.weight)
    return partition.number, np.array(partition.X), np.array(partition.y), weight


def tell(state, message):
    """Answer with everything, as plain lists."""
    number, X, y, weight = state
    return number, X.tolist(), y.tolist(), None if weight is None else weight.tolist(), message


def weigh(state, message):
    """Answer with one number."""
    number, X, y, _ = state
    return float((X.sum(axis=1) * y).sum() * message) + number


def length_of_message(_state, message):
    return len(message)


def where(_state, _message):
    return os.getpid()


def remember_unless(partition, number, error):
    """Fail in the way of `error` at one partition."""
    if partition.number == number:
        raise error
    return remember(partition)


def fail_at(state, message):
    """Fail in the way of the message, if there is one."""
    if message is not None:
        raise message
    return weigh(state, 1)


def end_the_process(partition):
    """Do what a worker without memory does."""
    if partition.number == 1:
        os._exit(1)
    return remember(partition)


def remember_slowly(partition):
    time.sleep(0.3)
    return remember(partition)


def measure_slowly(_state, message):
    time.sleep(0.3)
    return len(message)


def unreadable(block, block_info=None):
    """Be a part of a user's graph that fails at the third partition."""
    if block_info[0]["chunk-location"][0] == 2:
        raise OSError("the disk is gone")
    return block


def readable_later(block, path):
    """Be a part of a user's graph that fails at first."""
    if not path.exists():
        path.touch()
        raise OSError("the connection is down")
    return block
