import { Component, type ReactNode } from "react";
import type { Item } from "../api/types";
import classes from "./Chat.module.css";
import { LongText } from "./LongText";

/** Draws an item; one that cannot be drawn is shown as plain text and takes nothing else down with it. */
export class Sturdy extends Component<{ item: Item; children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render() {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <>
        <p className={classes.quiet}>This could not be drawn; it is shown as plain text.</p>
        <LongText text={this.props.item.text} label="Text" />
      </>
    );
  }
}
