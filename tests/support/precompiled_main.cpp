// The main() of executables that exist only for their precompiled headers, which the tests reuse. Nobody runs them.
int main() { return 0; }
