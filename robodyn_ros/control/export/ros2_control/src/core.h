/* The control loop of one arm, for a controller of ros2_control. It needs no Python.

   Two threads use it. One updates the loop, every period: the functions that take a `Core` belong to that thread. They
   neither allocate nor lock, and take a bounded time. All others prepare what the first one takes over: settings and
   trajectories. They may allocate, and say in words what is wrong.

   Arrays have ARM_JOINTS numbers, in the order of `core_joints`, in SI units. Times are in seconds, by the clock of the states. */

#ifndef CORE_H
#define CORE_H

#include <stddef.h>

#include "arm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Core Core;
typedef struct CoreSettings CoreSettings;
typedef struct CoreTrajectory CoreTrajectory;

/* --- parameters */

/* A text that a parameter may have, and the number that stands for it in `Parameters`. */
typedef struct {
  const char* text;
  double value;
} CoreChoice;

/* A parameter of the controller. */
typedef struct {
  const char* name;
  char kind;                 /* d number, i whole number, b on or off, s text, v numbers, l list of texts */
  char fixed;                /* 1: it is what it was when the package was written */
  int place, count;          /* where it is in `Parameters`, in numbers, and how many these are */
  double least, greatest;    /* of a number */
  const CoreChoice* choices; /* of a text; the last has none */
} CoreParameter;

const CoreParameter* core_parameters(int* count);
extern const char* const core_joints[];
extern const char* const core_terms[];
extern const char* const core_links[]; /* the root link, the tool, and the link that feels the wrench from outside */
extern const char* const core_frames[]; /* all links, ARM_LINKS: what is streamed to the tool may be told in their axes */

/* --- settings: not for the thread that updates */

CoreSettings* core_settings_create(void); /* 0 without memory */
void core_settings_destroy(CoreSettings* settings);

/* Work the settings out of parameters. Returns 0, and the problem in words, if they are not possible. `period` is the
   time between two updates. */
int core_settings_prepare(CoreSettings* settings, const Parameters* given, double period, char* problem, size_t size);

/* Whether the limits hold the arm: at q, no worse than by the settings of now, if there are any (0); or in an eighth of
   many poses, where nobody knows where the arm is (q is 0). Returns 0, and the problem in words, if they do not. */
int core_settings_hold(const CoreSettings* settings, const CoreSettings* now, const double* q, char* problem,
                       size_t size);

double core_velocity_limit(const CoreSettings* settings, int joint);
double core_position(const CoreSettings* settings, int joint, double near, double q); /* in the turn near to another */
const Parameters* core_given(const CoreSettings* settings);

/* --- trajectories: not for the thread that updates */

/* A trajectory of some joints through points, each row one after the other, (points, columns). Velocities, with them
   accelerations, and planned efforts may be 0: not given. Returns 0, and the problem in words, if it is refused.
     start: when its time is 0; NAN for now
     now: time of the latest state; points that are over by then are not checked */
CoreTrajectory* core_trajectory_create(const CoreSettings* settings, int points, int columns, const int* joints,
                                       const double* times, const double* positions, const double* velocities,
                                       const double* accelerations, const double* efforts, double start, double now,
                                       char* problem, size_t size);
void core_trajectory_destroy(CoreTrajectory* trajectory);

/* --- velocities of a stream of positions: the caller owns the memory, of one thread */

typedef struct {
  double t[ARM_JOINTS], q[ARM_JOINTS], v[ARM_JOINTS], silent_after;
} CoreVelocity;

void core_velocity_reset(CoreVelocity* stream);

/* Velocities of the joints of a message at the time t of its stamp, by filtered differentiation. */
void core_velocity_update(CoreVelocity* stream, const CoreSettings* settings, double t, const int* joints,
                          const double* q, double* velocity);

/* Nonzero if the stream was moving and has been silent for longer than messages get lost. */
int core_velocity_is_silent(const CoreVelocity* stream, double elapsed);

/* --- the loop */

Core* core_create(void); /* not for the thread that updates; 0 without memory */
void core_destroy(Core* core);

/* Work with other settings from now on. They belong to the loop until others are taken. */
void core_apply(Core* core, CoreSettings* settings);

/* Why something was refused, or what is wrong with a state. */
enum {
  CORE_OK,
  CORE_NOT_STARTED,    /* no state has come yet */
  CORE_FAULT,          /* a fault lasts */
  CORE_OUTSIDE,        /* position of a joint: value, and the limit */
  CORE_TOO_FAST,       /* velocity of a joint, likewise */
  CORE_TOO_STRONG,     /* effort of a joint, likewise */
  CORE_UNREACHABLE,    /* a joint jumps, and has no velocity limit within which it could be led there */
  CORE_OVER,           /* the trajectory is over */
  CORE_NOT_NUMBERS,
  CORE_CHANGED,        /* the velocity limits changed while the trajectory was prepared */
  CORE_NOT_HELD        /* the limits do not hold the arm where it is: effort of a joint, and its limit */
};

typedef struct {
  int why, joint;
  double value, limit;
} CoreRefusal;

/* A refusal in words; not for the thread that updates. */
void core_refusal_text(const CoreRefusal* refusal, char* text, size_t size);

/* The settings that the loop works with. */
const CoreSettings* core_settings(const Core* core);

/* Keep to a streamed reference, at the time t, until the next one. `joints` has 1 where the reference is of a joint; the
   others stay. */
CoreRefusal core_track(Core* core, double t, const int* joints, const double* q, const double* qd, const double* qdd,
                       const double* effort);

/* A stream of positions has fallen silent: stand still where it was, for the rest of its time. */
void core_stand_still(Core* core);

/* --- streams for the tool, in the axes of the root link */

enum {
  CORE_POSE,  /* position (3), and rotation (3, 3) row by row */
  CORE_TWIST, /* velocity of the tool's origin, and angular velocity (6) */
  CORE_WRENCH /* what the tool is to exert besides: force and torque about its origin (6) */
};

/* Turn what is told in a frame into the axes of the root link: `pose` (4, 4) is the frame's there, row by row. */
void core_to_root(int what, const double* pose, double* numbers);

/* Something new has come for the tool, at the time t. A stream begins where the reference of the joints is. `frame` is the
   place in core_frames of the link in whose axes it is told, as that is now; -1 for the root link. */
CoreRefusal core_tool(Core* core, int what, int frame, double t, const double* numbers);

/* Have the reference of the joints go on with the stream, if there is one; in every update. */
CoreRefusal core_tool_renew(Core* core, double t);

/* Follow a trajectory. It belongs to the loop until core_returned gives it back. */
CoreRefusal core_follow(Core* core, CoreTrajectory* trajectory);

/* Follow trajectories at a part of their speed, from 0 to 1, on top of the setting. */
void core_scale_speed(Core* core, double part);

/* A trajectory that the loop does not need any more, 0 if there is none. */
CoreTrajectory* core_returned(Core* core);

/* Stop, and stay; a latched fault is acknowledged. */
CoreRefusal core_hold(Core* core, double t);

void core_acknowledge(Core* core);

/* Take what acts from outside now for nothing. */
void core_tare(Core* core);

/* The wrench from outside in the axes of its link: force and torque about its origin (6). */
void core_wrench(const Core* core, double* wrench);

/* Nonzero: there are several publishers of references. */
void core_conflict(Core* core, int conflict);

/* Forget everything, and wait for a first state again. */
void core_stop(Core* core);

/* What is to be done with the efforts of an update. */
enum {
  CORE_SEND,  /* send them */
  CORE_KEEP,  /* nothing new is to be sent */
  CORE_SILENT /* a reaction has ended, or there is nothing to send: the efforts are zero */
};

/* What is wrong with a state that was not used. */
enum { CORE_STATE_USED, CORE_STATE_OUT_OF_ORDER, CORE_STATE_JUMPED, CORE_STATE_NO_NUMBERS, CORE_STATE_NO_VELOCITY, CORE_STATE_NOT_HELD, CORE_STATE_LAW_FAILED };

/* An update in numbers. */
typedef struct {
  int state;                  /* what is wrong with it */
  CoreRefusal refusal;        /* of the first state */
  int fault;                  /* kind that is reacted to, -1 for none: place in core_fault_names */
  int latched, problem, joint; /* of it */
  double value, bound;
  long long faults;           /* how many there have been */
  int from_law;               /* 1: the efforts are the law's, and the following count */
  double terms[ARM_TERMS * ARM_JOINTS], error[ARM_JOINTS];
  double external[ARM_JOINTS];         /* efforts from outside, if they are observed */
} CoreReport;

extern const char* const core_fault_names[];
void core_fault_text(const CoreReport* report, char* text, size_t size); /* not for the thread that updates */

/* The efforts at a time, for a state; qd is 0 where none are measured. */
int core_update(Core* core, double t, const double* q, const double* qd, double* effort, CoreReport* report);

/* The five numbers of MIT mode for the efforts that an update at t gave. */
void core_mit(const Core* core, double t, const double* q, const double* effort, double* position, double* velocity,
              double* stiffness, double* damping, double* feed_forward);

/* The efforts that carry the arm where it was last; 0 if nothing is being sent. */
int core_parting(Core* core, double* effort);

#ifdef __cplusplus
}
#endif

#endif
