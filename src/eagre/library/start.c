#define _GNU_SOURCE
#include "eagre.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *functions[@COUNT@];
static _Thread_local char message[@TEXT_SIZE@];
static char reason[@TEXT_SIZE@]; /* why Python is not available */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum { NEW, READY, HOSTED, UNAVAILABLE } state = NEW;
static pthread_t interpreter;
static sem_t answered, stopped;
static char code[200];

/* Python sets the handlers of these signals when it starts and when it ends: keep those of the program. */
static const int SIGNALS[] = {SIGINT, SIGPIPE, SIGXFSZ};
static struct sigaction handlers[3];
static void save_handlers(void) { for (int i = 0; i < 3; i++) sigaction(SIGNALS[i], NULL, &handlers[i]); }
static void restore_handlers(void) { for (int i = 0; i < 3; i++) sigaction(SIGNALS[i], &handlers[i], NULL); }

static void wait_for(sem_t *event) { while (sem_wait(event) && errno == EINTR) {} }
static void ready(void) { state = READY; sem_post(&answered); }
static void wait_for_stop(void) { wait_for(&stopped); }

/* Run the interpreter in a separate thread until eagre_stop; other threads call the functions of the table.
   Py_BytesMain belongs to the stable ABI: the library needs no Python headers and works with every Python version. */
static void *run(void *main_function)
{
    char *arguments[] = {getenv("EAGRE_PYTHON"), "-P", "-c", code, NULL};
    ((int (*)(int, char **))main_function)(4, arguments);
    sem_post(&answered);
    return NULL;
}

static void start_inside_python(int (*run_string)(const char *))
{
    int (*ensure)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    void (*release)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
    int lock_state = ensure();
    snprintf(code, sizeof code, "from eagre.library.start import fill\nfill(%p, @DIGEST@)", (void *)functions);
    state = run_string(code) ? UNAVAILABLE : HOSTED;
    release(lock_state);
}

static void start_python(void)
{
    char path[4096] = "";
    FILE *pipe = popen("\"$EAGRE_PYTHON\" -P -c 'from eagre.library.start import libpython; print(libpython())'", "r");
    if (pipe && fgets(path, sizeof path, pipe)) path[strcspn(path, "\n")] = 0;
    if (pipe) pclose(pipe);
    void *library = path[0] ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
    void *main_function = library ? dlsym(library, "Py_BytesMain") : NULL;
    if (!main_function) return;
    snprintf(code, sizeof code, "from eagre.library.start import serve; serve(%p, @DIGEST@, %p, %p)",
             (void *)functions, (void *)ready, (void *)wait_for_stop);
    sem_init(&answered, 0, 0);
    sem_init(&stopped, 0, 0);
    save_handlers();
    if (pthread_create(&interpreter, NULL, run, main_function)) return;
    wait_for(&answered);
    restore_handlers();
    if (state != READY) pthread_join(interpreter, NULL);
}

static int start(void)
{
    pthread_mutex_lock(&lock);
    if (state == NEW) {
        setenv("EAGRE_PYTHON", "@PYTHON@", 0);
        int (*is_on)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
        if (is_on && is_on()) start_inside_python((int (*)(const char *))dlsym(RTLD_DEFAULT, "PyRun_SimpleString"));
        else start_python();
        if (state == NEW) state = UNAVAILABLE;
        if (state == UNAVAILABLE)
            snprintf(reason, sizeof reason, "Python cannot load Eagre; standard error has the reason.\n"
                     "got EAGRE_PYTHON = %s\nallowed: the interpreter of an environment with Eagre", getenv("EAGRE_PYTHON"));
    }
    int is_ready = state == READY || state == HOSTED;
    pthread_mutex_unlock(&lock);
    if (!is_ready) memcpy(message, reason, sizeof message);
    return is_ready ? EAGRE_OK : EAGRE_NO_PYTHON;
}

const char *eagre_error(void) { return message; }

void eagre_error_(char *text, size_t length) /* Fortran: filled with blanks */
{
    size_t used = strlen(message) < length ? strlen(message) : length;
    memset(text, ' ', length);
    memcpy(text, message, used);
}

int eagre_stop(void)
{
    pthread_mutex_lock(&lock);
    if (state == READY) {
        save_handlers();
        sem_post(&stopped);
        pthread_join(interpreter, NULL);
        restore_handlers();
    }
    if (state != HOSTED) {
        state = UNAVAILABLE;
        snprintf(reason, sizeof reason, "eagre_stop was called before.");
    }
    pthread_mutex_unlock(&lock);
    return EAGRE_OK;
}

int eagre_stop_(void) { return eagre_stop(); }
