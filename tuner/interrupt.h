#ifndef AUTOTUNE_TUNER_INTERRUPT_H_
#define AUTOTUNE_TUNER_INTERRUPT_H_

namespace autotune {

// From now on the first Ctrl-C (SIGINT) or SIGTERM is only noted: InterruptRequested() turns true,
// and whoever works stops at the next safe point. A second one ends the process at once with exit
// code 130; what the record store acknowledged stays.
void InstallInterruptHandler();

// True once the user asked to stop. Thread-safe.
bool InterruptRequested();

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_INTERRUPT_H_
