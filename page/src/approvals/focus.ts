/** Go to the first question about a call that is open; the card gets the focus, and never what agrees to it. */
export function focusApproval(): boolean {
  const card = document.querySelector<HTMLElement>("[data-approval]");
  card?.scrollIntoView({ block: "nearest" });
  card?.focus({ preventScroll: true });
  return card !== null;
}

/** Go to that question as someone who wants to answer it: what is dangerous begins with the way out of it. */
export function goToApproval(): void {
  if (!focusApproval()) return;
  document.querySelector<HTMLElement>("[data-approval][data-dangerous] [data-deny]")?.focus();
}
