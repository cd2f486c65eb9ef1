/* Calls every function on arrays from in.bin and writes the results to out.bin, all as doubles; see test_c_library.py. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "eagre.h"

static FILE *in, *out;
static double *get(int n) { double *a = malloc(n * sizeof *a); return fread(a, sizeof *a, n, in) == (size_t)n ? a : exit(9), a; }
static void put(const double *a, int n) { fwrite(a, sizeof *a, n, out); }
static void put_number(double a) { put(&a, 1); }
static float *single(const double *a, int n) { float *b = malloc(n * sizeof *b); for (int i = 0; i < n; i++) b[i] = (float)a[i]; return b; }
static void put_single(const float *a, int n) { for (int i = 0; i < n; i++) put_number(a[i]); }
static void check(int status) { if (status) { fprintf(stderr, "status %d: %s\n", status, eagre_error()); exit(1); } }
static void report(int status) { printf("%d %s\n--\n", status, eagre_error()); }

enum { SIDE = 12, SYSTEM = 16 };

/* 5-point Laplacian with zeros outside; the first call solves a tridiagonal system too. */
static int nested = -1;
static void laplace(const int *n, const double *u, double *y, void *data)
{
    double one = 1.0, two = 2.0, x;
    if (nested < 0) nested = eagre_tridiagonal(1, 1, 1, &one, &two, &one, &one, &x) || x != 0.5;
    for (int k = 0; k < *n; k++) {
        int i = k % SIDE, j = k / SIDE;
        double sum = (i ? u[k - 1] : 0) + (i < SIDE - 1 ? u[k + 1] : 0) + (j ? u[k - SIDE] : 0) + (j < SIDE - 1 ? u[k + SIDE] : 0);
        y[k] = *(double *)data * (sum - 4.0 * u[k]);
    }
}
static void jacobi(const int *n, const double *r, double *y, void *data)
{
    for (int k = 0; k < *n; k++) y[k] = -r[k] / (4.0 * *(double *)data);
}

/* 40 systems one after another with diagonal 2 number, so that x = d / (2 number) exactly; every fourth call is invalid. */
static void *many(void *number)
{
    double b[SYSTEM], zero[SYSTEM] = {0}, d[SYSTEM], x[SYSTEM], own = *(int *)number;
    long wrong = 0;
    for (int call = 0; call < 40; call++) {
        for (int i = 0; i < SYSTEM; i++) b[i] = 2.0 * own, d[i] = call + i;
        wrong += eagre_tridiagonal(1, SYSTEM, 1, zero, b, zero, d, x) != EAGRE_OK;
        for (int i = 0; i < SYSTEM; i++) wrong += x[i] != d[i] / b[i];
        char expected[40];
        snprintf(expected, sizeof expected, "got n = %d", -*(int *)number);
        if (call % 4) continue;
        wrong += eagre_tridiagonal(1, -*(int *)number, 1, zero, b, zero, d, x) != EAGRE_BAD_INPUT;
        wrong += !strstr(eagre_error(), expected);
    }
    return (void *)wrong;
}

static void advance_lake(int nx, int ny, int steps)
{
    int cells = nx * ny, p = (nx + 1) * ny, q = nx * (ny + 1);
    double *bed = get((nx + 1) * (ny + 1)), *manning = get(cells), *fields[] = {get(cells), get(p), get(q), get(q)};
    check(eagre_sweep(nx, ny, 10.0, 8.0, 0.5, steps, 9.81, 0.0, 1e-3, bed, manning, fields[0], fields[1], fields[2], fields[3]));
    put(fields[0], cells), put(fields[1], p), put(fields[2], q), put(fields[3], q);
}

int main(void)
{
    in = fopen("in.bin", "rb"), out = fopen("out.bin", "wb");
    pthread_t threads[2];
    int numbers[] = {1, 2}, n = 3 * SYSTEM * 4, iterations;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, many, &numbers[i]);
    for (int i = 0; i < 2; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        put_number((long)wrong);
    }
    put_number(eagre_error()[0] == 0); /* errors of other threads */
    struct sigaction action;
    sigaction(SIGINT, NULL, &action);
    put_number(action.sa_handler == SIG_DFL);
    sigaction(SIGPIPE, NULL, &action);
    put_number(action.sa_handler == SIG_DFL);

    double *a = get(n), *b = get(n), *c = get(n), *d = get(n), x[3 * SYSTEM * 4];
    float y[3 * SYSTEM * 4];
    check(eagre_tridiagonal(3, SYSTEM, 4, a, b, c, d, x)), put(x, n);
    check(eagre_tridiagonal_f(3, SYSTEM, 4, single(a, n), single(b, n), single(c, n), single(d, n), y)), put_single(y, n);

    int nx = 12, ny = 10, points = nx * ny;
    double *vx = get((nx + 1) * ny), *vy = get(nx * (ny + 1)), *h = get(points), *field = get(points);
    check(eagre_mpdata(nx, ny, 1, 3, EAGRE_PERIODIC, EAGRE_PERIODIC, EAGRE_PERIODIC, 2, 0, 1, vx, vy, NULL, h, field));
    put(field, points);
    vx[0] = 5.0;
    report(eagre_mpdata(nx, ny, 1, 3, EAGRE_PERIODIC, EAGRE_PERIODIC, EAGRE_PERIODIC, 2, 0, 1, vx, vy, NULL, h, field));
    report(eagre_mpdata(nx, ny, 1, 1, 7, 0, 0, 2, 0, 1, vx, vy, NULL, h, field));
    report(eagre_mpdata(nx, ny, 1, 1, 0, 0, 0, 2, 0, 1, vx, NULL, NULL, h, field));
    put(field, points);

    int unknowns = SIDE * SIDE;
    double *right = get(unknowns), *u = calloc(unknowns, sizeof *u), factor = SIDE * SIDE, norm;
    check(eagre_gcr(unknowns, laplace, jacobi, &factor, 3, 1e-10, 500, right, u, &iterations, &norm));
    put(u, unknowns), put_number(norm), put_number(nested);
    memset(u, 0, unknowns * sizeof *u);
    report(eagre_gcr(unknowns, laplace, NULL, &factor, 3, 1e-10, 2, right, u, &iterations, &norm));
    put(u, unknowns), put_number(iterations), put_number(norm);
    report(eagre_gcr(unknowns, NULL, NULL, &factor, 3, 1e-10, 2, right, u, &iterations, &norm));

    advance_lake(nx, ny, 1);
    advance_lake(nx, ny, 1);
    advance_lake(nx, ny, 3);
    check(eagre_stop());
    report(eagre_tridiagonal(1, SYSTEM, 1, a, b, c, d, x));
    return fclose(out);
}
