/** What each thing is called once it has happened, and where it has not, by what it is called while it does. */
const words: Readonly<Record<string, readonly [done: string, wanted: string]>> = {
  "Adding todos": ["Added todos", "Add todos"],
  "Applying patch": ["Patched", "Patch"],
  Asking: ["Asked:", "Ask:"],
  "Asking you": ["Asked you", "Ask you"],
  "Calling a tool": ["Called a tool", "Call a tool"],
  "Changing a memory": ["Changed the memory", "Change the memory"],
  "Checking for errors": ["Checked for errors in", "Check for errors in"],
  "Closing the terminal": ["Closed the terminal", "Close the terminal"],
  Committing: ["Committed:", "Commit:"],
  "Counting memories": ["Counted memories", "Count memories"],
  "Creating file": ["Created", "Create"],
  "Creating folder": ["Created folder", "Create folder"],
  "Deleting file": ["Deleted", "Delete"],
  "Editing file": ["Edited", "Edit"],
  "Editing files": ["Edited", "Edit"],
  "Finding files": ["Looked for files:", "Look for files:"],
  "Finding usages": ["Looked for usages of", "Look for usages of"],
  Forgetting: ["Forgot", "Forget"],
  "Importing document": ["Imported", "Import"],
  "Listing documents": ["Listed the documents", "List the documents"],
  "Listing folder": ["Listed", "List"],
  "Listing the mini prompts": ["Listed the mini prompts", "List the mini prompts"],
  "Listing the prompts": ["Listed the prompts", "List the prompts"],
  "Looking at changes": ["Looked at changes", "Look at changes"],
  "Looking at the screen": ["Looked at the screen", "Look at the screen"],
  "Looking at the selection": ["Looked at the selection", "Look at the selection"],
  "Looking back": ["Looked back for", "Look back for"],
  "Looking for tools": ["Looked for tools:", "Look for tools:"],
  "Looking up the last command": ["Looked up the last command", "Look up the last command"],
  "Making a picture": ["Made a picture:", "Make a picture:"],
  "Opening a terminal": ["Opened a terminal", "Open a terminal"],
  "Reading a page": ["Read", "Read"],
  "Reading a result": ["Read result", "Read result"],
  "Reading document": ["Read document", "Read document"],
  "Reading file": ["Read", "Read"],
  "Reading output": ["Read the output of", "Read the output of"],
  "Reading search results": ["Read search results,", "Read search results,"],
  "Reading task output": ["Read the output of task", "Read the output of task"],
  "Reading the terminal": ["Read the terminal", "Read the terminal"],
  "Reading the terminal's history": ["Read the terminal's history", "Read the terminal's history"],
  "Reading the todos": ["Read the todos", "Read the todos"],
  Remembering: ["Remembered:", "Remember:"],
  "Renaming file": ["Renamed", "Rename"],
  Running: ["Ran", "Run"],
  "Running new task": ["Ran the new task", "Run the new task"],
  "Running task": ["Ran task", "Run task"],
  "Searching documents": ["Searched documents for", "Search documents for"],
  "Searching by meaning": ["Searched by meaning for", "Search by meaning for"],
  "Searching memory": ["Searched memory for", "Search memory for"],
  "Searching text": ["Searched for", "Search for"],
  "Searching the index": ["Searched the index for", "Search the index for"],
  "Searching the web": ["Searched the web for", "Search the web for"],
  Thinking: ["Thought:", "Think:"],
  Typing: ["Typed", "Type"],
  "Updating the todos": ["Updated the todos", "Update the todos"],
  "Writing the todos": ["Wrote the todos", "Write the todos"],
};

/** What joins a verb to what it is about; nothing follows where that is not known. */
const JOINT = /(:|,| in| for| of)$/;

function said(doing: string, which: 0 | 1): string | undefined {
  const at = doing.indexOf(": ");
  const [verb, what] = at < 0 ? [doing, ""] : [doing.slice(0, at), doing.slice(at + 2)];
  const known = Object.hasOwn(words, verb) ? words[verb]?.[which] : undefined;
  return known && (what ? `${known} ${what}` : known.replace(JOINT, ""));
}

/** Return what a call did from what it was doing: "Editing file: app.py" is "Edited app.py"; words of a plugin stay. */
export const inPast = (doing: string): string => said(doing, 0) ?? doing.replace(/^Asking for /, "Asked for ");

/** Return what a call was to do and did not: "Editing file: app.py" is "Edit app.py"; why stands beside it. */
export const inVain = (doing: string): string => said(doing, 1) ?? doing.replace(/^Asking for /, "Ask for ");
