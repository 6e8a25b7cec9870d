import type { Item } from "../api/types";
import { argumentsOf } from "../chat/data";
import { size } from "../chat/words";
import { CopyButton } from "../shell/CopyButton";
import { toolName } from "./call";
import classes from "./Calls.module.css";
import { Exactly } from "./Exactly";

/** All that a call will be given, each argument by itself and in full. */
export function Given({ call }: { call: Item }) {
  const source = argumentsOf(call);
  const given = Object.entries(call.data.arguments ?? {});
  const label = `Arguments of ${toolName(call)}`;
  if (!given.length) return <p className={classes.quiet}>It is called without arguments.</p>;
  return (
    <div className={classes.labelled}>
      <div className={classes.label}>
        <span>{source.length > 1_000 ? `${label}, ${size(source.length)}` : label}</span>
        <CopyButton value={source} label={`Copy ${label.toLowerCase()}`} />
      </div>
      <div className={classes.arguments} aria-label={label} tabIndex={0} role="group">
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
