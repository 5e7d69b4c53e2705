// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The control loop of one arm, for a controller of ros2_control: the core (core/core.h), its settings of parameters
   (parameters.c), and what is said in words.

   The functions that take an `Arm` belong to the thread that updates: they neither allocate nor lock, and take a bounded
   time. All others may allocate, and say in words what is wrong. */

#ifndef ARM_LOOP_H
#define ARM_LOOP_H

#include "arm.h"
#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Arm Arm;
typedef struct ArmSettings ArmSettings;

extern const char* const arm_joints[];
extern const char* const arm_terms[];
extern const char* const arm_fault_names[];
extern const char* const arm_links[];  /* the root link, the tool, and the link that feels the wrench from outside */
extern const char* const arm_frames[]; /* all links, ARM_LINKS: what is streamed to the tool may be told in their axes */

/* --- parameters */

/* A text that a parameter may have, and the number that stands for it in `Parameters`. */
typedef struct {
  const char* text;
  double value;
} ArmChoice;

/* A parameter of the controller. */
typedef struct {
  const char* name;
  char kind;                /* d number, i whole number, b on or off, s text, v numbers, l list of texts */
  char fixed;               /* 1: it is what it was when the package was written */
  int place, count;         /* where it is in `Parameters`, in numbers, and how many these are */
  double least, greatest;   /* of a number */
  const ArmChoice* choices; /* of a text; the last has none */
} ArmParameter;

const ArmParameter* arm_parameters(int* count);

/* --- settings: not for the thread that updates */

ArmSettings* arm_settings_create(void); /* 0 without memory */
void arm_settings_destroy(ArmSettings* settings);

/* Work the settings out of parameters. Returns 0, and the problem in words, if they are not possible. `period` is the
   time between two updates [s]. */
int arm_settings_prepare(ArmSettings* settings, const Parameters* given, double period, char* problem, size_t size);

/* Whether the limits hold the arm: at q, no worse than by the settings of now, if there are any (0); or in an eighth of
   many poses, where nobody knows where the arm is (q is 0). Returns 0, and the problem in words, if they do not. */
int arm_settings_hold(const ArmSettings* settings, const ArmSettings* now, const double* q, char* problem, size_t size);

const Parameters* arm_given(const ArmSettings* settings);
const CoreSettings* arm_core_settings(const ArmSettings* settings);

/* --- the loop */

Arm* arm_create(void); /* not for the thread that updates; 0 without memory */
void arm_destroy(Arm* arm);

/* The core, for what needs nothing of the arm. */
Core* arm_core(Arm* arm);

/* Work with other settings from now on. They belong to the loop until others are applied. */
void arm_apply(Arm* arm, ArmSettings* settings);

/* The settings that the loop works with. */
ArmSettings* arm_settings(const Arm* arm);

/* Forget everything, and wait for a first state. */
void arm_stop(Arm* arm);

/* Follow a trajectory, with the tolerances of the settings. It belongs to the loop until core_returned gives it back. */
CoreRefusal arm_follow(Arm* arm, CoreTrajectory* trajectory);

/* What is to be done with the efforts of an update. */
enum {
  ARM_SEND,   /* send them */
  ARM_KEEP,   /* nothing new is to be sent */
  ARM_SILENT, /* a reaction has ended, or there is nothing to send: the efforts are zero */
  ARM_BLIND   /* no usable state has come since the start, for state_timeout: the last gravity, or zero where none is known */
};

/* An update in numbers. */
typedef struct {
  int code;                    /* of core_update */
  CoreRefusal refusal;         /* of a first state at which the limits do not hold the arm */
  int fault;                   /* kind that is reacted to, -1 for none: place in arm_fault_names */
  int latched, problem, joint; /* of it */
  double value, bound;
  long long faults;            /* how many there have been */
  double effort[CORE_JOINTS];
  double terms[ARM_TERMS * CORE_JOINTS], error[CORE_JOINTS]; /* of the law, where there is no fault */
  double external[CORE_JOINTS]; /* efforts from outside, if they are observed */
} ArmReport;

/* A period. t is the time [s]; qd is 0 where none is measured. */
int arm_update(Arm* arm, double t, const double* q, const double* qd, ArmReport* report);

/* The five numbers of MIT mode for the efforts of the latest update. */
void arm_mit(const Arm* arm, double t, const double* q, const double* effort, double* position, double* velocity,
             double* stiffness, double* damping, double* feed_forward);

/* What is left on the drives, as the parameter on_deactivate says: efforts, and damping of drives in MIT mode. Nonzero if
   something was being sent. */
int arm_part(Arm* arm, double* effort, double* damping);

/* The wrench from outside in the axes of its link: force and torque about its origin (6). */
void arm_wrench(const Arm* arm, double* wrench);

/* --- streams for the tool, in the axes of the root link */

/* Turn what is told in a frame into the axes of the root link: `pose` (4, 4) is the frame's there, row by row. */
void arm_to_root(int what, const double* pose, double* numbers);

/* Something new has come for the tool, at the time t, as core_tool takes it. `frame` is the place in arm_frames of the link
   in whose axes it is told, as that is now; -1 for the root link. */
CoreRefusal arm_tool(Arm* arm, int what, int frame, double t, double stamp, const double* numbers);

/* Nonzero while the tool cannot reach what is streamed to it. */
int arm_is_unreachable(const Arm* arm);

/* --- words: not for the thread that updates */

void arm_fault_text(const ArmReport* report, char* text, size_t size);
void arm_refusal_text(const CoreRefusal* refusal, char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
