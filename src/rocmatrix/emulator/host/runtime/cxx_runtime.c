// Stands for libstdc++.so.6 and libgcc_s.so.1 when guard.cpp is linked; never loaded.
void __cxa_begin_catch(void) {}
void __cxa_end_catch(void) {}
void __gxx_personality_v0(void) {}
void _Unwind_Resume(void) {}
void _ZSt9terminatev(void) {}
void* _ZTISt9exception[2];
