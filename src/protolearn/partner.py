"""Some of a compiled function's work by another thread, without the interpreter's help.

A thread of Python that is given work begins after 50 microseconds and more: it is woken, and then waits until the one
that woke it lets go of the interpreter's lock. A partner looks for work all the time, in a compiled loop that needs no
lock, and begins within a microsecond. It does so for a millisecond or two after it was called or had work, longer than
what lies between two pieces of work of an iteration of L-BFGS on some thousand rows, and then sleeps until it is called
again.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from threading import Lock, Thread
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin, type_callable

from protolearn.compiled import Compiled, aligned_zeros, compiled, vector
from protolearn.function_arguments import FunctionOf
from protolearn.lanes import INDEX, index
from protolearn.threads import in_threads, n_threads, threads_for

_SETTINGS: Any = config

# Where a box has what, in two cache lines: the work with its state, and whether anyone looks at it.
_STATE, _FUNCTION, _TASK, _PRESENT = 0, 1, 2, 8
_SIZE = 16
BOX = vector(types.int64)
# The states of the work.
_NONE, _GIVEN, _TAKEN, _DONE = range(4)
# How often a partner looks for work before it sleeps; a pause in between takes 20 to 50 nanoseconds.
_PATIENCE = 40_000
# Below this many multiply-adds another thread costs more than it brings, even where it waits for work.
_WORTH_A_PARTNER = 1e6
# Looks after which one who waits lets others have the processor.
_IN_A_ROW = 1024


def run_pieces(box, function, n_pieces, *arguments):
    """function(*arguments, piece) for each piece, by this thread and the partner who looks at the box, if there is one.

    This one begins with the first piece and the partner with the last, until they meet: a slow one takes fewer, and the
    next time most pieces are with the one who has them in its cache.
    """
    for piece in range(n_pieces):
        function(*arguments, piece)


def help_once(box):
    """Do the work that is in the box, if there is any."""
    return False


def put_flag(box, place, value):
    """box[place] = value, at once and after all that was done before."""
    box[place] = value


@infer_global(run_pieces)
class _TypeOfRunPieces(AbstractTemplate):
    """For any number of arguments, which `type_callable` does not offer."""

    def generic(self, arguments: Any, keywords: Any) -> Any:
        return signature(types.none, *arguments)


@type_callable(help_once)
def _type_of_help_once(context: Any) -> Callable:
    return lambda box: types.boolean


@type_callable(put_flag)
def _type_of_put_flag(context: Any) -> Callable:
    return lambda box, place, value: types.none


@lower_builtin(put_flag, types.Array, types.Integer, types.Integer)
def _put_flag(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    box = _Box(context, builder, signature.args[0], arguments[0])
    builder.store_atomic(arguments[2], builder.gep(box.numbers, [arguments[1]]), "seq_cst", 8)
    return context.get_dummy_value()


@lower_builtin(help_once, types.Array)
def _help_once(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    box = _Box(context, builder, signature.args[0], arguments[0])
    helped = cgutils.alloca_once_value(builder, cgutils.false_bit)
    with builder.if_else(box.is_in(_GIVEN), likely=False) as (there, nothing):
        with there, builder.if_then(box.changes(_GIVEN, _TAKEN)):
            run = builder.inttoptr(builder.load(box.place(_FUNCTION)), _TASK_FUNCTION.as_pointer())
            task = builder.inttoptr(builder.load(box.place(_TASK)), cgutils.voidptr_t)
            builder.call(run, [task, cgutils.true_bit])
            box.put(_DONE)
            builder.store(cgutils.true_bit, helped)
        with nothing:
            _pause(builder)
    return builder.load(helped)


@lower_builtin(run_pieces, types.Array, FunctionOf, types.Integer, types.VarArg(types.Any))
def _run_pieces(context: Any, builder: ir.IRBuilder, wanted: Any, arguments: Any) -> Any:
    box_type, function_type, count_type, *given = wanted.args
    inner = function_type.signature
    address = cgutils.create_struct_proxy(function_type)(context, builder, value=arguments[1]).jit_addr
    box = _Box(context, builder, box_type, arguments[0])
    values = [
        context.cast(builder, value, kind, inner_kind)
        for value, kind, inner_kind in zip(arguments[3:], given, inner.args[:-1], strict=True)
    ]
    # The task: how many pieces are taken and how many there are, one that failed or -1, what is called, and with what.
    count = context.cast(builder, arguments[2], count_type, types.int64)
    parts = [index(0), count, index(-1), address, *values]
    task = cgutils.alloca_once(builder, ir.LiteralStructType([part.type for part in parts]))
    for i, part in enumerate(parts):
        builder.store(part, cgutils.gep_inbounds(builder, task, 0, i))
    run = _task_function(context, builder, task.type, inner)
    builder.store(builder.ptrtoint(run, INDEX), box.place(_FUNCTION))
    builder.store(builder.ptrtoint(task, INDEX), box.place(_TASK))
    box.put(_GIVEN)
    builder.call(run, [builder.bitcast(task, cgutils.voidptr_t), cgutils.false_bit])
    with builder.if_then(builder.not_(box.changes(_GIVEN, _NONE))):
        box.wait(_DONE)
        box.put(_NONE)
    failed = builder.load(cgutils.gep_inbounds(builder, task, 0, 2))
    with cgutils.if_unlikely(builder, builder.icmp_signed(">=", failed, index(0))):
        # Once more, here where the error can be raised.
        status, _ = _call(context, builder, address, inner, [*values, failed])
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
    return context.get_dummy_value()


_TASK_FUNCTION = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, ir.IntType(1)])


def _task_function(context: Any, builder: ir.IRBuilder, task_type: Any, inner: Any) -> ir.Function:
    """A function that takes pieces of a task of this type until there are no more.

    It gets the address of the task, and whether it is to begin with the last piece.
    """
    run = ir.Function(builder.module, _TASK_FUNCTION, builder.module.get_unique_name("protolearn_task"))
    run.linkage = "internal"
    within = ir.IRBuilder(run.append_basic_block())
    task = within.bitcast(run.args[0], task_type)
    taken, failed = (cgutils.gep_inbounds(within, task, 0, i) for i in (0, 2))
    count, address, *values = (
        within.load(cgutils.gep_inbounds(within, task, 0, i)) for i in (1, *range(3, 3 + len(inner.args)))
    )
    # Each counts its own; together they take no more than there are.
    own = cgutils.alloca_once_value(within, index(0))
    take, work, end = (within.append_basic_block(name) for name in ("take", "work", "end"))
    within.branch(take)
    within.position_at_end(take)
    before = within.atomic_rmw("add", taken, index(1), "acq_rel")
    within.cbranch(within.icmp_signed("<", before, count), work, end)
    within.position_at_end(work)
    number = within.load(own)
    within.store(within.add(number, index(1)), own)
    from_the_end = within.sub(within.sub(count, index(1)), number)
    piece = within.select(run.args[1], from_the_end, number)
    status, _ = _call(context, within, address, inner, [*values, piece])
    with cgutils.if_unlikely(within, status.is_error):
        within.store_atomic(piece, failed, "release", 8)
    within.branch(take)
    within.position_at_end(end)
    within.ret_void()
    return run


def _call(context: Any, builder: ir.IRBuilder, address: Any, inner: Any, values: Any) -> tuple[Any, Any]:
    """Status and result of a function that numba compiled."""
    convention = context.call_conv
    callee = builder.bitcast(address, convention.get_function_type(inner.return_type, inner.args).as_pointer())
    return convention.call_function(builder, callee, inner.return_type, inner.args, values)


class _Box:
    """The numbers of a box, as those see them who share it."""

    def __init__(self, context: Any, builder: ir.IRBuilder, box_type: Any, box: Any) -> None:
        self.builder = builder
        self.numbers = context.make_array(box_type)(context, builder, box).data
        self.state = self.place(_STATE)

    def place(self, number: int) -> Any:
        return self.builder.gep(self.numbers, [index(number)])

    def put(self, state: int) -> None:
        self.builder.store_atomic(index(state), self.state, "release", 8)

    def is_in(self, state: int) -> Any:
        found = self.builder.load_atomic(self.state, "acquire", 8)
        return self.builder.icmp_unsigned("==", found, index(state))

    def changes(self, before: int, after: int) -> Any:
        """Whether the state was this one, and is the other one now."""
        pair = self.builder.cmpxchg(self.state, index(before), index(after), "acq_rel", "acquire")
        return self.builder.extract_value(pair, 1)

    def wait(self, state: int) -> None:
        """Until the state is this one."""
        builder = self.builder
        looks = cgutils.alloca_once_value(builder, index(0))
        look, pause, end = (builder.append_basic_block(name) for name in ("look", "pause", "seen"))
        builder.branch(look)
        builder.position_at_end(look)
        builder.cbranch(self.is_in(state), end, pause)
        builder.position_at_end(pause)
        _pause(builder)
        count = builder.add(builder.load(looks), index(1))
        builder.store(count, looks)
        in_a_row = builder.urem(count, index(_IN_A_ROW))
        with builder.if_then(builder.icmp_unsigned("==", in_a_row, index(0)), likely=False):
            _let_others_run(builder)
        builder.branch(look)
        builder.position_at_end(end)


def _pause(builder: ir.IRBuilder) -> None:
    """Tell the processor that this is a loop that waits."""
    if platform.machine() in ("x86_64", "AMD64"):
        nothing = ir.FunctionType(ir.VoidType(), [])
        builder.call(cgutils.get_or_insert_function(builder.module, nothing, "llvm.x86.sse2.pause"), [])


def _let_others_run(builder: ir.IRBuilder) -> None:
    """Tell the system that another thread may have the processor."""
    if os.name == "posix":
        yields = ir.FunctionType(ir.IntType(32), [])
        builder.call(cgutils.get_or_insert_function(builder.module, yields, "sched_yield"), [])


@compiled(lambda number: types.void(vector(types.int64), types.int64))
def look_for_work(box, patience):
    """Do what is put into the box, until there has been nothing for some time."""
    put_flag(box, _PRESENT, 1)
    left = patience
    while left > 0:
        left = patience if help_once(box) else left - 1
    put_flag(box, _PRESENT, 0)


class _Partner(Thread):
    """A thread that looks for work for some time after it was called, and sleeps otherwise."""

    def __init__(self) -> None:
        super().__init__(name="protolearn partner", daemon=True)
        self.box = aligned_zeros((_SIZE,), np.int64)
        self._look = look_for_work.of(np.float64)
        self._called = Lock()
        self._called.acquire()
        self.start()

    def run(self) -> None:
        """For as long as the process lives."""
        while True:
            self._called.acquire()
            self._look(self.box, _PATIENCE)

    def call(self) -> None:
        """Have it look for work, if it does not."""
        if not self.box[_PRESENT] and self._called.locked():
            self._called.release()


# Those who work with nobody; kept, for to start a thread takes 0.1 ms.
_IDLE: list[_Partner] = []
# The threads of a process do not live on in its fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.clear)


def in_company(kernel: Compiled, dtype: Any, *arguments: Any, worth: bool = True) -> Any:
    """Call a kernel whose last argument is a box, for `run_pieces`, and have a partner look at it.

    worth : whether there is enough to do; if not, nobody looks
    """
    of_number = kernel.of(dtype)
    if not worth or n_threads() == 1 or _SETTINGS.DISABLE_JIT:
        return of_number(*arguments, np.zeros(_SIZE, dtype=np.int64))
    try:
        partner = _IDLE.pop()
    except IndexError:
        partner = _Partner()
    partner.call()
    try:
        return of_number(*arguments, partner.box)
    finally:
        _IDLE.append(partner)


def in_pieces(kernel: Compiled, shared: Compiled, dtype: Any, arguments: tuple, n: int, multiply_adds: float) -> None:
    """Call kernel(*arguments, piece) for the pieces 0 to n - 1, by as many threads as are worth their work.

    shared : runs the pieces of the kernel, its first argument: (kernel, *arguments, n, box)
    """
    threads = min(threads_for(multiply_adds), n)
    if threads > 2:
        of_piece = kernel.of(dtype)
        in_threads(lambda piece: of_piece(*arguments, piece), range(n), threads)
        return
    worth = n > 1 and worth_a_partner(multiply_adds)
    in_company(shared, dtype, kernel.argument(dtype), *arguments, n, worth=worth)


def worth_a_partner(multiply_adds: float) -> bool:
    """Whether a partner, if there is one, shortens so much work."""
    return multiply_adds >= _WORTH_A_PARTNER and n_threads() > 1


def types_in_pieces(signature: Any) -> Any:
    """The signature of `shared` for a kernel whose last argument is the piece."""
    return types.void(FunctionOf(signature), *signature.args, BOX)
