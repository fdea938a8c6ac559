// Compiles against the installed headers and links something out of the installed libraries.
#include <millrace/millrace.h>

int main() { return millrace::Status().to_string() == "OK" ? 0 : 1; }
