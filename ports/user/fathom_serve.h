/* SPDX-License-Identifier: MIT */
/* fathom_serve.h -- let `fathom mount PID` and `fathom fs PID` reach the control tree of this process. */
#ifndef FATHOM_SERVE_H
#define FATHOM_SERVE_H

/*
 * Start a thread that serves the tree on a socket in $XDG_RUNTIME_DIR/fathom (or /tmp/fathom-<uid>), named after the
 * pid; only the user and root may connect. 0, -EBUSY (it runs already), or why the socket could not be made.
 */
int fathom_user_serve(void);
const char *fathom_user_serve_path(void); /* NULL if it does not run */
void fathom_user_serve_stop(void);

#endif
