// Of the executables whose precompiled headers the tests use; nobody runs it.
int main() { return 0; }
