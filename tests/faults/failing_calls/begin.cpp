// Calls are counted from the start of main() to its end.
#include "stand_in.hpp"

namespace {

using Main = int (*)(int, char**, char**);
Main g_main = nullptr;

int armed_main(int count, char** arguments, char** environment) {
    udtx::faults::arm(true);
    const int code = g_main(count, arguments, environment);
    udtx::faults::arm(false);
    return code;
}

}  // namespace

UDTX_STAND_IN(int, __libc_start_main,
              (Main main, int count, char** arguments, void (*init)(), void (*fini)(), void (*loader_fini)(),
               void* stack)) {
    UDTX_REAL(__libc_start_main, int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*));
    g_main = main;
    return real(armed_main, count, arguments, init, fini, loader_fini, stack);
}
