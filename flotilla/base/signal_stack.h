// A stack of its own for signal handlers, for threads that run code which uses the stack pointer as
// an ordinary register: generated matrix products do so, and a handler on the thread's stack would
// then overwrite the heap. Handlers must be installed with SA_ONSTACK, as StopSignal's are.
#pragma once

namespace flotilla {

// Gives the calling thread such a stack until it ends, unless it has one already. Costs a flag of
// the thread on every further call.
void UseSignalStack();

}  // namespace flotilla
