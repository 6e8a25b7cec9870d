import { Fragment, type ReactNode } from "react";
import { modeAt, modeNames } from "../policy/modes";
import { Seen } from "../servers/Plain";
import { useApp } from "../store/store";
import classes from "./Approvals.module.css";
import type { Asked } from "./asked";
import { lastingOf } from "./choices";
import { useSettingsOf } from "./useGiven";

/** Words of the model's or a server's, marked as theirs: they are no part of what is decided about. */
function Foreign({ whose, children }: { whose: string; children: string }) {
  return (
    <figure className={classes.foreign}>
      <figcaption>{whose}</figcaption>
      <blockquote>
        <Seen text={children} prose />
      </blockquote>
    </figure>
  );
}

/** Return a word as a shell takes it. */
const quoted = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

/** How this would not be asked: a mode, a rule, or words on the command line. */
function Spared({ asked: { cure, choices } }: { asked: Asked }) {
  const ways: ReactNode[] = [
    ...(cure.modes.length ? [`the mode ${cure.modes.map((mode) => modeNames[mode]).join(" or ")}`] : []),
    ...(choices.some(({ id }) => id === "always") ? ["a rule"] : []),
    ...(cure.allow.length ? [<code key="allow">{cure.allow.map((name) => `--allow ${quoted(name)}`).join(" ")}</code>] : []),
  ];
  if (!ways.length) return null;
  return (
    <p className={classes.why}>
      <span className={classes.whyLabel}>Not asked with:</span>{" "}
      {ways.map((way, at) => (
        <Fragment key={at}>
          {at > 0 && ", or "}
          {way}
        </Fragment>
      ))}
    </p>
  );
}

/** Why the person is asked, and what others say about it. */
export function Reasons({ asked, conversationId }: { asked: Asked; conversationId: string }) {
  const settings = useSettingsOf(conversationId);
  const config = useApp((state) => state.config);
  // What could be allowed for longer is asked about because nobody said anything yet.
  const byMode = lastingOf(asked.choices).length ? ` The mode ${modeNames[modeAt(settings, config, 0)]} asks about that.` : "";
  return (
    <>
      {asked.why && asked.why !== asked.dangerous && (
        <p className={classes.why}>
          <span className={classes.whyLabel}>Why it asks:</span> {asked.why}
          {byMode}
          {asked.rule && <code className={classes.rule}>{asked.rule}</code>}
        </p>
      )}
      <Spared asked={asked} />
      {asked.modelSays && <Foreign whose="The model’s words, which may be wrong or misled">{asked.modelSays}</Foreign>}
      {asked.server && asked.description && (
        <Foreign whose={`${asked.server} says about this tool`}>{asked.description}</Foreign>
      )}
    </>
  );
}
