// The tools end by _exit() if threads may hang in a disk call. Write gcov's counts before that.
extern "C" {

void __gcov_dump();                          // NOLINT(bugprone-reserved-identifier): the compiler's name
[[noreturn]] void __real__exit(int status);  // NOLINT(bugprone-reserved-identifier): the linker's name, --wrap

[[noreturn]] void __wrap__exit(int status) {  // NOLINT(bugprone-reserved-identifier)
    __gcov_dump();
    __real__exit(status);
}

}  // extern "C"
