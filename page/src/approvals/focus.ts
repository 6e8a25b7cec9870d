const CARDS = "[data-approval], [data-question], [data-dock] section";

function focusOn(card: HTMLElement | null): boolean {
  card?.scrollIntoView({ block: "nearest" });
  card?.focus({ preventScroll: true });
  return card !== null;
}

/** Go to the question that is shown; the card gets the focus, and never what agrees to it. */
export const focusQuestion = () => focusOn(document.querySelector(CARDS));

/** Go to the question about a call as someone who wants to answer it: what is dangerous begins with the way out of it. */
export function goToApproval(): void {
  if (!focusOn(document.querySelector("[data-approval]"))) return;
  document.querySelector<HTMLElement>("[data-approval][data-dangerous] [data-deny]")?.focus();
}
