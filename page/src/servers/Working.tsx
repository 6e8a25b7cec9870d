import { Loader } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { Elapsed } from "../chat/Elapsed";
import { hostNow } from "../store/clock";
import classes from "./Keys.module.css";

interface WorkingProps {
  /** What is done, in a few words. */
  children: string;
  /** A button beside it. */
  action?: ReactNode;
}

/** Something that takes a while, with the time since it is shown. */
export function Working({ children, action }: WorkingProps) {
  const [since] = useState(hostNow);
  return (
    <div className={classes.running}>
      <Loader size={14} aria-hidden />
      <span>
        <span role="status">{children}</span>{" "}
        <span aria-hidden>
          <Elapsed since={since} />
        </span>
      </span>
      {action}
    </div>
  );
}
