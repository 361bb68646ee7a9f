// A program without device code, linked with a sample in a shared object.
int SampleMain();

int main() { return SampleMain(); }
