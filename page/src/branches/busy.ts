const answers = (count: number) => (count === 1 ? "An answer" : `${count} answers`);
const them = (count: number) => (count === 1 ? "it" : "them");
const does = (count: number, verb: "is" | "waits") => (count === 1 ? verb : { is: "are", waits: "wait" }[verb]);

/** Return what there is to decide about answers that a new branch leaves behind: those at work, and those that wait for the
 * person, which hold up nothing but their own branch. */
export function busyWords(working: number, waiting: number): string {
  if (!working)
    return (
      `${answers(waiting)} after this place ${does(waiting, "waits")} for you. Stop ${them(waiting)}, or leave ${them(waiting)} waiting? ` +
      `The new branch is answered at once, and what was asked stays open there.`
    );
  const left = waiting ? ` ${waiting === 1 ? "Another one waits" : `${waiting} others wait`} for you, and can stay so.` : "";
  const all = working + waiting;
  return (
    `${answers(working)} after this place ${does(working, "is")} still at work.${left} ` +
    `Stop ${them(all)} now, or let ${them(working)} finish before the new branch is answered?`
  );
}

/** Return the name of what stops nothing. */
export const goOnWords = (working: number, waiting: number) =>
  working ? `Let ${them(working)} finish first` : `Leave ${them(waiting)} waiting`;
