/** Put the cursor into the first field that has an error, once it is drawn: a mistake must not stay out of sight. */
export function focusError(form: HTMLFormElement | null): void {
  requestAnimationFrame(() => form?.querySelector<HTMLElement>("[aria-invalid=true], input[data-invalid], [data-invalid] input")?.focus());
}
