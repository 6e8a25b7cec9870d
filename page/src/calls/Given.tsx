import { size } from "../chat/words";
import { CopyButton } from "../shell/CopyButton";
import classes from "./Calls.module.css";
import { Exactly } from "./Exactly";

/** Values that are this short stand side by side. */
const SHORT_CHARS = 60;

interface GivenProps {
  /** The tool's name. */
  name: string;
  all: Record<string, unknown> | null;
}

/** All that a call will be given, each argument by itself and in full. */
export function Given({ name: tool, all }: GivenProps) {
  const given = Object.entries(all ?? {});
  const label = `Arguments of ${tool}`;
  if (!given.length) return <p className={classes.quiet}>It is called without arguments.</p>;
  const source = JSON.stringify(all, null, 2);
  const isShort = given.every(([, value]) => (typeof value === "string" ? value : JSON.stringify(value)).length <= SHORT_CHARS);
  return (
    <div className={classes.exact} data-short={isShort || undefined}>
      {source.length > 1_000 && <div className="ph-label">{`${label}, ${size(source.length)}`}</div>}
      <span className={classes.exactCopy}>
        <CopyButton value={source} label={`Copy ${label.toLowerCase()}`} />
      </span>
      <div className={`ph-code ${classes.arguments}`} aria-label={label} tabIndex={0} role="group">
        <dl>
          {given.map(([name, value]) => (
            <div key={name} className={classes.argument}>
              <dt>{name}</dt>
              <dd>
                <Exactly value={value} />
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </div>
  );
}
