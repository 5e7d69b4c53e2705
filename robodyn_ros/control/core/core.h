// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The control loop of one arm: from joint states to efforts. It knows no ROS and no Python.

     JointState ─▶ states ─▶ consistency ─▶ references ─▶ step_run ─▶ faults ─▶ effort
                   age, order,  velocity against  hold, trajectory,  law and   detection and
                   jumps, NaN   position, motion   stream, tool       limits,   reaction
                                against effort                        compiled

   core_update and core_watch are a period (loop.c). Two threads may use a loop. One runs the periods: every function
   that takes a `Core` belongs to it; these functions neither allocate nor lock, and take a bounded time. Any other
   thread prepares settings and trajectories, which the first one takes over as a whole; these functions may allocate.

   Arrays have CORE_JOINTS numbers, in SI units: rad or m, N·m or N, s. Times are by the clock of the states. */

#ifndef CORE_H
#define CORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Core Core;
typedef struct CoreSettings CoreSettings;
typedef struct CoreTrajectory CoreTrajectory;

/* Reasons of a refusal. */
enum {
  CORE_OK,
  CORE_NOT_STARTED, /* no state has come yet */
  CORE_FAULT,       /* there is a fault: value is its kind */
  CORE_BY_HAND,     /* the law follows no reference: the arm is moved by hand */
  CORE_OUTSIDE,     /* position of a joint: value and limit */
  CORE_TOO_FAST,    /* velocity of a joint, likewise */
  CORE_TOO_STRONG,  /* effort of a joint, likewise */
  CORE_TOO_ABRUPT,  /* acceleration of a joint, likewise */
  CORE_UNREACHABLE, /* the reference of a joint jumps, and the joint has no velocity limit for the transition */
  CORE_OVER,        /* the trajectory has ended: value is its duration [s] */
  CORE_NOT_NUMBERS,
  CORE_CHANGED,     /* the velocity limits have changed since the trajectory was prepared */
  CORE_NOT_HELD,    /* the limits cannot hold the arm at its position: effort of a joint, and its limit */
  CORE_NOT_RISING,  /* the times of a trajectory do not increase strictly: `joint` is the point */
  CORE_IN_MOTION,   /* the trajectory does not end at rest */
  CORE_NO_TOOL,     /* the settings have no tool */
  CORE_PATH_ERROR,  /* position of a joint relative to its reference, and the path tolerance of a trajectory */
  CORE_PATH_SPEED,  /* velocity of a joint, likewise */
  CORE_GOAL_ERROR,  /* position of a joint relative to the goal of a trajectory, and the goal tolerance */
  CORE_GOAL_SPEED,  /* velocity of a joint at the goal, likewise */
  CORE_NO_MEMORY
};

typedef struct {
  int64_t why, joint;
  double value, limit; /* in the unit of the refused quantity */
} CoreRefusal;

/* --- trajectories: not for the thread of the periods */

/* A trajectory of some joints through points, each row one after the other, (points, columns). Velocities, with them
   accelerations, and planned efforts may be 0: not given.
     start: when its time is 0 [s]; NAN for now
     now: time of the latest state [s]; points that are over by then are not checked
   Returns 0 and the reason if it is refused. */
CoreTrajectory* core_trajectory_create(const CoreSettings* settings, int64_t points, int64_t columns, const int64_t* joints,
                                       const double* times, const double* positions, const double* velocities,
                                       const double* accelerations, const double* efforts, double start, double now,
                                       CoreRefusal* refusal);
void core_trajectory_destroy(CoreTrajectory* trajectory);

/* --- velocities of a stream of positions: the caller owns the memory, of one thread */

typedef struct {
  double t[CORE_JOINTS], q[CORE_JOINTS], v[CORE_JOINTS]; /* stamp [s], position and velocity of the latest message */
  double step[CORE_JOINTS];                               /* time from the message before to the latest [s] */
} CoreVelocity;

void core_velocity_reset(CoreVelocity* stream);

/* Velocities of the joints of a message at the time t of its stamp [s], by filtered differentiation. */
void core_velocity_update(CoreVelocity* stream, const CoreSettings* settings, double t, const int64_t* joints, const double* q,
                          double* velocity);

/* Nonzero if the stream was moving, and more messages are missing than get lost on the way. */
int core_velocity_is_silent(const CoreVelocity* stream, double elapsed);

/* --- the loop */

Core* core_create(void); /* not for the thread of the periods; 0 without memory */
void core_destroy(Core* core);

/* How new settings replace the present ones. */
enum {
  CORE_REFRESH,  /* the same settings with new parameters of the model: at once */
  CORE_CONTINUE, /* the same law and model: the change of the effort is blended in */
  CORE_BLEND,    /* another model: a transition from the last effort that was sent */
  CORE_REPLACE   /* another law: likewise, and its integral is reset */
};

/* Uses new settings from now on. They belong to the caller, who keeps them until other settings are applied. */
void core_apply(Core* core, CoreSettings* settings, int how);

/* The present settings of the loop; 0 before the first ones. */
const CoreSettings* core_settings(const Core* core);

/* Resets the loop and holds the arm at its position q at the time t [s]. The first state does this, too. */
void core_start(Core* core, double t, const double* q);

/* Resets the loop, which then waits for a first state. */
void core_stop(Core* core);

/* The time of a state in simulated time [ns]: its stamp, unless that is further than state_timeout from the newest of the
   clock and of all stamps; then that one. A clock that is 0 has not come yet, so the stamp counts. If the clock goes back,
   the simulation was reset: the next state is accepted with any time and position. */
int64_t core_simulated_time(Core* core, int64_t clock, int64_t stamp);

/* Follows a streamed reference, at the time t [s], until the next one. `joints` has 1 for the joints that the reference
   has; the others come to rest. */
CoreRefusal core_track(Core* core, double t, const int64_t* joints, const double* q, const double* qd, const double* qdd,
                       const double* effort);

/* A stream of positions has stopped: the reference stays at its last position until the stream times out. */
void core_stand_still(Core* core);

/* Kinds of streams to the tool, in the axes of the root link. */
enum {
  CORE_POSE,  /* position (3), and rotation (3, 3) row by row */
  CORE_TWIST, /* velocity of the tool's origin, and angular velocity (6) */
  CORE_WRENCH /* force that the tool exerts in addition, and torque about its origin (6) */
};

/* A new message of a stream to the tool, at the time t [s]; a pose has a stamp, NAN for t. The stream begins at the
   present reference, which follows it in every period (tool.c). */
CoreRefusal core_tool(Core* core, int what, double t, double stamp, const double* numbers);

/* Tolerances of a trajectory; INFINITY for none. */
typedef struct {
  double path[CORE_JOINTS], goal[CORE_JOINTS]; /* greatest error on the path, and at the goal [rad] or [m] */
  double path_speed[CORE_JOINTS], speed[CORE_JOINTS]; /* greatest error of the speed on the path, and speed at the goal */
  double time; /* to come to rest at the goal [s] */
} CoreTolerances;

/* Follows a trajectory. It belongs to the loop until core_returned returns it, also if it is refused. Its outcome is
   stored under `id`, in References. */
CoreRefusal core_follow(Core* core, CoreTrajectory* trajectory, const CoreTolerances* tolerances, int64_t id);

/* Returns a trajectory that the loop does not use any more; 0 if there is none. To be called until then after each
   core_follow, or before the next one. */
CoreTrajectory* core_returned(Core* core);

/* Outcomes of a trajectory; one that is not kept any more counts as switched off. */
enum {
  CORE_UNDER_WAY, CORE_SUCCEEDED, CORE_OFF_PATH, CORE_OFF_GOAL, CORE_REPLACED, CORE_HELD, CORE_INTERRUPTED, CORE_SWITCHED_OFF
};

/* Sets the speed ratio of trajectories, from 0 to 1, a factor on the setting. */
void core_scale_speed(Core* core, double ratio);

/* The reference (4, CORE_JOINTS: position, velocity, acceleration, effort) that is planned for the time t [s] by the
   present goals. */
CoreRefusal core_expected(Core* core, double t, double* reference);

/* Stops the arm from the time t [s] on and holds it. Acknowledges a latched fault. */
CoreRefusal core_hold(Core* core, double t);
void core_acknowledge(Core* core);

/* Zeroes the external efforts of the joints: the present estimate is subtracted from now on. */
void core_tare(Core* core);

/* The contact by external efforts and a wrench at the tool (CORE_JOINTS + 6): 0 none, 1 collision, 2 touch. `problem` has
   its problem (kinds.h) as the reason. Any thread may call this. */
int core_judge_contact(const CoreSettings* settings, const double* external, CoreRefusal* problem);

/* Contact that was detected outside the core, likewise. */
void core_set_contact(Core* core, int kind);

/* Nonzero: there are several publishers of states, commands or references. */
void core_set_conflict(Core* core, int conflict);

/* Results of a period. */
enum {
  CORE_SEND,   /* there is an effort to send */
  CORE_SILENT, /* a reaction has ended, or there is nothing to send */
  CORE_STALE, CORE_OUT_OF_ORDER, CORE_JUMPED, CORE_STATE_NOT_FINITE, CORE_NO_VELOCITY, /* the state is refused */
  CORE_LAW_FAILED,    /* the law failed before the first command: the loop has stopped */
  CORE_STATE_NOT_HELD /* the limits cannot hold the arm at its first state */
};

/* A period. t is the stamp of the state, now the time now [s]; qd is 0 where none is measured. */
int core_update(Core* core, double t, double now, const double* q, const double* qd);

/* A period without a usable state, at the time t [s]: after state_timeout it gives the effort of the reaction. */
int core_watch(Core* core, double t);

/* Time until the next core_watch is due [s]: `rests` if nothing is sent without states, else a period of the states,
   because the gains of a reaction are designed for that period. */
double core_watch_due(const Core* core, double rests);

/* Nonzero if the latest effort is to be sent again at the time t [s], with the stamp of a dropped state: for drives
   that brake without commands, and for a simulator that waits for a command for each state. */
int core_repeat(Core* core, double t, double now);

/* The next effort of the transition to the final command, which carries the arm at its last position, for drives that
   repeat their last command. Nonzero while there is one: 2 if it is the final command. */
int core_final_command(Core* core, double t, double* effort);

/* The five values of MIT mode for the effort of the latest period, at the time t [s]. q has the positions with the
   turns that the drives count, `greatest` the greatest stiffness and damping. */
void core_mit(const Core* core, double t, const double* q, const double* effort, const double* greatest, double* position,
              double* velocity, double* stiffness, double* damping, double* feed_forward);

#ifdef __cplusplus
}
#endif

#endif
