// The tools leave by _exit where threads may sit in a disk call: what they counted is written first.
extern "C" {

void __gcov_dump();                          // NOLINT(bugprone-reserved-identifier): of the compiler
[[noreturn]] void __real__exit(int status);  // NOLINT(bugprone-reserved-identifier): of the linker, --wrap

[[noreturn]] void __wrap__exit(int status) {  // NOLINT(bugprone-reserved-identifier)
    __gcov_dump();
    __real__exit(status);
}

}  // extern "C"
