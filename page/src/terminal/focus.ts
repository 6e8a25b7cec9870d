let isWanted = false;

/** Let the next terminal that is drawn take the keyboard: someone asked for it. */
export function wantFocus(): void {
  isWanted = true;
}

/** Return whether a terminal shall take the keyboard, once. */
export function takeFocus(): boolean {
  const was = isWanted;
  isWanted = false;
  return was;
}
